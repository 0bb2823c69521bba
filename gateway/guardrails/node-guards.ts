/** The guardrails of a config's nodes: what a target does not say itself, its parent says. */
import { type GuardItem, type GuardList, guardItems, INPUT_LISTS, OUTPUT_LISTS } from '#crds/config/guard-items.ts';
import type { Config } from '#crds/config/schema.ts';
import { type Guard, inlineGuard, referredGuard } from './guard.ts';
import type { GuardBook, SideGuards } from './guard-book.ts';

/** Of one node, inherited ones included. */
export type NodeGuards = Readonly<Partial<Record<GuardList, readonly Guard[]>>>;

export interface GuardSource {
  readonly guards: GuardBook;
  /** Whose guardrails the names mean. */
  readonly namespace: string;
  /** A request wrote the config. */
  readonly byRequest: boolean;
}

export const NO_GUARDS: SideGuards = { input: [], output: [] };
export const NO_NODE_GUARDS: NodeGuards = {};

const LISTS: readonly GuardList[] = [...INPUT_LISTS, ...OUTPUT_LISTS];

/** Each of the four lists is replaced or kept as a whole. */
export function inheritGuards(parent: NodeGuards, config: Config, source: GuardSource): NodeGuards {
  let own: NodeGuards = parent;
  for (const list of LISTS) {
    const items = guardItems(config, list);
    if (items !== undefined) own = { ...own, [list]: items.map((item) => guardOf(item, source)) };
  }
  return own;
}

/** Of the root: they are asked once, before a target is chosen, and no target asks them again. */
export function withoutInput(guards: NodeGuards): NodeGuards {
  if (guards === NO_NODE_GUARDS) return guards;
  const { after_request_hooks: hooks, output_guardrails: guardrails } = guards;
  return { ...(hooks && { after_request_hooks: hooks }), ...(guardrails && { output_guardrails: guardrails }) };
}

export function sidesOf(guards: NodeGuards): SideGuards {
  if (guards === NO_NODE_GUARDS) return NO_GUARDS;
  return {
    input: INPUT_LISTS.flatMap((list) => guards[list] ?? []),
    output: OUTPUT_LISTS.flatMap((list) => guards[list] ?? []),
  };
}

function guardOf(item: GuardItem, { guards, namespace, byRequest }: GuardSource): Guard {
  if (item.checks !== undefined) return inlineGuard(item, item.checks, guards.meansOf(namespace, byRequest));
  return referredGuard(guards.named(namespace, item.id ?? ''), item);
}
