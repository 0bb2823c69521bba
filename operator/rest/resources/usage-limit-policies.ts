/** `/policies/usage-limits`, and the groups that a budget is counted in. */
import { z } from '#crds/config/words.ts';
import { groupIdOf } from '#crds/limits/counter-key.ts';
import type { UsageLimit } from '#crds/limits/usage-limit.ts';
import { changedSpec } from '../body.ts';
import { ControlError } from '../control-error.ts';
import { findObject } from '../find-object.ts';
import { findChangeable } from '../operations.ts';
import { flagOf, pageOf, parameter, wordOf } from '../query.ts';
import type { ActionRow, ResourceRow } from '../resource-row.ts';
import type { Spec, StoredObject } from '../stored-object.ts';
import { POLICY, STATUS } from './rate-limit-policies.ts';
import { isExhausted, resetAnnotation, resetTimes, type Usage, usageOf } from './usage.ts';
import { PLACE, placeFields, wholeSpec } from './wire.ts';

const PERIOD_FIELDS = ['periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'];
const CHANGEABLE = ['name', 'credit_limit', 'alert_threshold', ...PERIOD_FIELDS, 'on_unavailable'];
const ENTITY_PAGE = { smallest: 1, largest: 100 };

/** A body that says one way to begin anew does not mean the other, which stood there before. */
function merged(fields: Spec, before: Spec = {}): Spec {
  const says = (name: string) => fields[name] !== undefined && fields[name] !== null;
  const replaced = says('periodic_reset')
    ? ['periodic_reset_days', 'next_usage_reset_at']
    : says('periodic_reset_days')
      ? ['periodic_reset']
      : [];
  const dropped = replaced.filter((name) => fields[name] === undefined).map((name) => [name, null] as const);
  return changedSpec(before, { ...Object.fromEntries(dropped), ...fields });
}

/** A group as the entities name it; of a policy with one key in `group_by` the value itself. */
function groupIdFor(object: StoredObject, value: string): string {
  const known = usageOf(object).find(({ group }) => group === value);
  return known === undefined || known.groupId === '' ? groupIdOf([value]) : known.groupId;
}

const listEntities: ActionRow = {
  method: 'GET',
  path: '/:id/entities',
  action: 'read',
  async run(row, call) {
    const { query } = call;
    const object = await findObject(row, call, 'read');
    const status = wordOf(query, 'status', ['active', 'exhausted']);
    const search = parameter(query, 'search')?.toLowerCase() ?? '';
    const isAsked = (usage: Usage) =>
      (status === undefined || isExhausted(usage) === (status === 'exhausted')) &&
      usage.group.toLowerCase().includes(search);
    const { items, total } = pageOf(query, usageOf(object).filter(isAsked), ENTITY_PAGE);
    const data = items.map(({ groupId, group, used }) => ({ id: groupId, value_key: group, current_usage: used }));
    return { object: 'list', total, data };
  },
};

const resetEntity: ActionRow = {
  method: 'PUT',
  path: '/:id/entities/:entity/reset',
  action: 'update',
  async run(row, call) {
    const { entity = '' } = call.params;
    const object = await findChangeable(row, call, 'update');
    if (!/^[0-9a-f]{16}$/.test(entity))
      throw new ControlError('unknown_object', 'An entity is named by its id of 16 hexadecimal digits.', {
        param: 'entityId',
      });
    const annotations = resetAnnotation(entity);
    await call.world.objects.change(object, (current) => ({
      spec: current.spec,
      annotations: { ...current.annotations, ...annotations },
    }));
    return { id: entity, object: 'policy_usage_limits_entity' };
  },
};

export const USAGE_LIMIT_POLICIES: ResourceRow = {
  ...POLICY,
  path: '/policies/usage-limits',
  kind: 'UsageLimitPolicy',
  title: 'usage limit policy',
  words: { created: 'policy_usage_limits', whole: 'policy_usage_limits' },
  create: { fields: ['conditions', 'group_by', 'type', ...CHANGEABLE], besides: PLACE },
  update: { fields: CHANGEABLE, besides: { reset_usage_for_value: z.string().min(1).max(2048) } },
  filters: { status: STATUS, type: { words: ['cost', 'tokens'], of: (spec) => spec['type'] } },
  merged,
  annotations({ reset_usage_for_value: value }, object) {
    return typeof value === 'string' ? resetAnnotation(groupIdFor(object, value)) : {};
  },
  wire(object, { world, query, params }) {
    const spec = wholeSpec(object);
    const { name = null, conditions, group_by, type, credit_limit, status, on_unavailable } = spec;
    const { alert_threshold = null, periodic_reset, periodic_reset_days = null } = spec;
    const isListed = params['id'] === undefined;
    const usage = Object.fromEntries(usageOf(object).map(({ group, used }) => [group, used]));
    return {
      id: object.id,
      ...{ name, conditions, group_by, type, credit_limit, alert_threshold, periodic_reset, periodic_reset_days },
      ...resetTimes(object, spec as UsageLimit),
      ...{ on_unavailable, status },
      ...placeFields(object, world),
      ...(isListed || flagOf(query, 'include_usage') ? { value_key_usage_map: usage } : {}),
    };
  },
  actions: [listEntities, resetEntity],
};
