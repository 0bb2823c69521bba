/** Our own kinds, as their CustomResourceDefinitions declare them. */
import { customResourceDefinition } from '#crds/generate/crd.ts';
import type { Kind } from '#crds/kinds/kind.ts';
import { KINDS } from '#crds/kinds/kinds.ts';
import type { Cause } from './failure.ts';
import { fieldsOf, without } from './fields.ts';
import { causeOf, type ResourceRow } from './resource-row.ts';
import { propertiesOf, type Schema } from './schema.ts';

interface Version {
  readonly schema: { readonly openAPIV3Schema: Schema };
}

function schemaOf(kind: Kind): Schema {
  const [version] = fieldsOf(customResourceDefinition(kind)['spec'])['versions'] as readonly Version[];
  if (version === undefined) throw new Error(`the CustomResourceDefinition of ${kind.kind} has no version`);
  const schema = version.schema.openAPIV3Schema;
  return { ...schema, properties: without(propertiesOf(schema), ['apiVersion', 'kind', 'metadata']) };
}

/** What the CEL rules of the CRD refuse, and whatever the kind's own schema refuses besides. */
function specCauses(kind: Kind, spec: unknown): Cause[] {
  const { error } = kind.specSchema.safeParse(spec);
  return (error?.issues ?? []).map(({ path, message }) =>
    causeOf(['spec', ...path].join('.'), `Invalid value: ${message}`),
  );
}

function customRow(kind: Kind, checksSpecs: boolean): ResourceRow {
  return {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    plural: kind.plural,
    group: kind.group,
    isNamespaced: true,
    hasStatus: true,
    counts: 'spec',
    createsOnReplace: false,
    replacesUnconditionally: false,
    schema: schemaOf(kind),
    isTyped: false,
    namesItems: true,
    hasRules: JSON.stringify(schemaOf(kind)).includes('x-kubernetes-validations'),
    rules: (object) => (checksSpecs ? specCauses(kind, object['spec']) : []),
  };
}

/** Takes any spec, as a cluster does whose CRDs are older than the operator. */
function looseRow(kind: Kind): ResourceRow {
  const row = customRow(kind, false);
  const spec = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return { ...row, schema: { ...row.schema, properties: { ...propertiesOf(row.schema), spec } } };
}

/** `validatesSpecs` false: no spec is refused, and no field of one left out. */
export function customRows(validatesSpecs: boolean): ResourceRow[] {
  return KINDS.map((kind) => (validatesSpecs ? customRow(kind, true) : looseRow(kind)));
}
