/** Where the cache of a config acts. */
import { hash } from 'node:crypto';
import type { Config } from '#crds/config/schema.ts';
import { GatewayError } from '../errors.ts';
import type { PlanCache, PlanNode, Target } from './plan.ts';

const NOWHERE: PlanCache = { at: 'nowhere', rule: undefined, fingerprint: '' };
const AT_TARGETS: PlanCache = { at: 'targets', rule: undefined, fingerprint: '' };

/**
 * The root's rule acts before a target is chosen, unless some target says otherwise, or has guardrails that its requests must
 * pass: then each rule acts where its target is asked.
 */
export function planCache(config: Config, root: PlanNode): PlanCache {
  const targets = [...targetsOf(root)];
  const rule = targets[0]?.settings.cache;
  if (targets.every(({ settings }) => settings.cache === undefined)) return NOWHERE;
  const isRoots = config.cache !== undefined && targets.every(({ settings }) => settings.cache === rule);
  if (!isRoots || targets.some(({ guards }) => guards.input.length > 0)) return AT_TARGETS;
  return { at: 'root', rule, fingerprint: targets.length === 1 ? '' : fingerprintOf(config, targets) };
}

function* targetsOf(node: PlanNode): Generator<Target> {
  if (node.kind === 'target') yield node;
  else for (const child of node.children) yield* targetsOf(child);
}

/** Configs hold credentials: what leads to them must not be read from it. */
function fingerprintOf({ cache: _, ...config }: Config, targets: readonly Target[]): string {
  const places = targets.map(({ upstream }) => {
    if (upstream === 'request' || upstream instanceof GatewayError) return '';
    return [upstream.provider.name, upstream.origin, upstream.pathPrefix, upstream.integration ?? ''];
  });
  return hash('sha256', JSON.stringify([config, places]), 'base64url');
}
