/** A Guardrail -> its record; and what is wrong with the checks of any object. */
import { guardItems, INPUT_LISTS, OUTPUT_LISTS } from '#crds/config/guard-items.ts';
import { ANNOTATIONS } from '#crds/object.ts';
import { formatPath } from '#crds/problems.ts';
import type { GuardrailRecord } from '#crds/snapshot/contract.ts';
import { checkProblems, treeCheckProblems } from '#gateway/catalog.ts';
import type { Manifest } from '../world.ts';
import type { AcceptedObject, GuardrailObject, WorkspaceObject } from './check.ts';
import type { Lookup } from './lookup.ts';
import { type ConfigNode, specPath } from './providers.ts';
import type { Verdict } from './status.ts';

const MAX_PROBLEMS = 5;
const SIDES = ['input', 'output'] as const;
const ANNOTATION = `metadata.annotations["${ANNOTATIONS.defaultGuardrail}"]`;

type Sides = GuardrailRecord['default_for'];

const known = new WeakMap<GuardrailObject, GuardrailRecord>();

/** The same object gives the same record. */
export function compileGuardrail(object: GuardrailObject): GuardrailRecord {
  const record = known.get(object) ?? recordOf(object);
  known.set(object, record);
  return record;
}

function recordOf({ manifest, spec, sharedWith }: GuardrailObject): GuardrailRecord {
  const { on_fail: onFail, on_success: onSuccess, stream, ...actions } = spec.actions;
  return {
    namespace: manifest.namespace,
    name: manifest.name,
    shared_with: sharedWith,
    default_for: sidesOf(manifest) ?? [],
    checks: spec.checks.filter((check) => check.is_enabled).map(({ id, parameters }) => ({ id, parameters })),
    ...actions,
    deny: actions.deny || onFail?.deny === true,
    ...(stream === undefined ? {} : { stream }),
    ...(onFail?.feedback === undefined ? {} : { on_fail: onFail.feedback }),
    ...(onSuccess?.feedback === undefined ? {} : { on_success: onSuccess.feedback }),
  };
}

/** undefined: the annotation says something that it cannot say. */
function sidesOf({ raw }: Manifest): Sides | undefined {
  const { annotations } = (raw.metadata ?? {}) as { annotations?: Readonly<Record<string, string>> };
  const written = annotations?.[ANNOTATIONS.defaultGuardrail];
  if (written === undefined) return [];
  const words = written.split(',').map((word) => word.trim());
  const sides = SIDES.filter((side) => words.includes(side));
  return sides.length === words.length ? sides : undefined;
}

/** Why an object cannot be used because of its checks, or of its wish to be a default. */
export function guardrailVerdict(object: AcceptedObject): Verdict | undefined {
  return annotationVerdict(object) ?? checkVerdict(object);
}

function annotationVerdict({ kind, manifest }: AcceptedObject): Verdict | undefined {
  const sides = sidesOf(manifest);
  if (sides === undefined)
    return { reason: 'InvalidAnnotation', message: `${ANNOTATION}: must be "input", "output" or "input,output"` };
  if (sides.length === 0 || kind === 'Guardrail') return undefined;
  return { reason: 'InvalidAnnotation', message: `${ANNOTATION}: only a Guardrail can be a default guardrail` };
}

function checkVerdict(object: AcceptedObject): Verdict | undefined {
  const problems = problemsOf(object);
  if (problems.length === 0) return undefined;
  const more = problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : '';
  const texts = problems.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path}: ${message}`);
  const reason = problems.every(({ isUnknown }) => isUnknown) ? 'UnknownCheck' : 'InvalidSpec';
  return { reason, message: texts.join('; ') + more };
}

function problemsOf(object: AcceptedObject): ReturnType<typeof checkProblems> {
  if (object.kind === 'GatewayConfig') return treeCheckProblems(object.spec, 'spec');
  if (object.kind !== 'Guardrail') return [];
  return object.spec.checks.flatMap(({ id, parameters }, index) => {
    const place = `spec.checks[${index}]`;
    return checkProblems(id, parameters, { id: `${place}.id`, parameters: `${place}.parameters` });
  });
}

/** Guardrails that a config names and that its workspace cannot use. */
export function missingGuardrails(node: ConfigNode, namespace: string, lookup: Lookup): readonly Verdict[] {
  const items = [...INPUT_LISTS, ...OUTPUT_LISTS].flatMap((list) => guardItems(node.config, list) ?? []);
  return items.flatMap(({ id, checks, path }) => {
    const missing = id === undefined || checks !== undefined ? undefined : lookup.missing('Guardrail', namespace, id);
    return missing === undefined ? [] : [notFound(specPath(node, formatPath('', path)), missing)];
  });
}

/** Of the defaults that a Workspace names, as the workspace itself sees them. */
export function missingDefaults({ manifest, spec }: WorkspaceObject, lookup: Lookup): readonly Verdict[] {
  const lists = {
    input_guardrails: spec.defaults.input_guardrails,
    output_guardrails: spec.defaults.output_guardrails,
  };
  return Object.entries(lists).flatMap(([list, names = []]) =>
    names.flatMap((name, index) => {
      const missing = lookup.missing('Guardrail', manifest.name, name);
      return missing === undefined ? [] : [notFound(`spec.defaults.${list}[${index}]`, missing)];
    }),
  );
}

function notFound(path: string, missing: string): Verdict {
  return { reason: 'RefNotFound', message: `${path}: ${missing}; until it can be used, such requests are refused` };
}
