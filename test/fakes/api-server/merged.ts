/** What is stored, and what somebody applies -> both: his values win; items of lists that are maps or sets are matched. */
import { type Child, childrenOf } from './field-sets.ts';
import { fieldsOf, isFields } from './fields.ts';
import { fieldSchema, type Schema } from './schema.ts';

const FREE: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

export function merged(live: unknown, applied: unknown, schema: Schema): unknown {
  if (applied === undefined) return live;
  if (live === undefined || childrenOf(applied, schema) === undefined || childrenOf(live, schema) === undefined) {
    return applied;
  }
  if (isFields(live) && isFields(applied)) {
    const names = Object.keys({ ...live, ...applied });
    return Object.fromEntries(
      names.map((name) => [name, merged(live[name], applied[name], fieldSchema(schema, name) ?? FREE)]),
    );
  }
  return mergedItems(childrenOf(live, schema) ?? [], childrenOf(applied, schema) ?? [], fieldsOf(schema['items']));
}

/** Shared items in the order in which they are applied, the others where they stood. */
function mergedItems(live: readonly Child[], applied: readonly Child[], items: Schema): unknown[] {
  const stored = new Map(live.map((child) => [child.step, child.value]));
  const wanted = new Set(applied.map(({ step }) => step));
  const shared = applied.map(({ step }) => step).filter((step) => stored.has(step));
  const out: unknown[] = [];
  const take = ({ step, value }: Child) => {
    out.push(merged(stored.get(step), value, items));
    if (shared[0] === step) shared.shift();
  };
  let at = 0;
  for (const child of applied) {
    for (let here = live[at]; here !== undefined && here.step !== child.step; here = live[at]) {
      const isShared = wanted.has(here.step);
      if (isShared && shared[0] === here.step) break;
      if (!isShared) out.push(here.value);
      at += 1;
    }
    if (live[at]?.step === child.step) at += 1;
    take(child);
  }
  return [
    ...out,
    ...live
      .slice(at)
      .filter(({ step }) => !wanted.has(step))
      .map(({ value }) => value),
  ];
}
