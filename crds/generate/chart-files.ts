/** Files of the Helm chart that are made of the schemas. */
import { stringify } from 'yaml';
import { dashboardJson } from '../chart/dashboard.ts';
import { chartValues } from '../chart/values.ts';
import type { Kind } from '../kinds/kind.ts';
import { customResourceDefinition } from './crd.ts';
import { jsonSchemaOf } from './json-schema.ts';

/** A folder of the repository, with the text of its files by name. */
export interface GeneratedFolder {
  /** From the repository's root, with a slash at its end. */
  readonly path: string;
  readonly files: ReadonlyMap<string, string>;
  /** Nothing else may lie in the folder. */
  readonly isOurs: boolean;
}

const HEADER = '{{- /* Written by `npm run generate` from the schemas; do not edit. */ -}}\n';
const LABELS = 'labels: {}';

/** What helm would take for a template of its own. */
function escaped(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}');
}

function crdTemplate(kind: Kind): string {
  const { metadata, ...rest } = customResourceDefinition(kind);
  const { name } = metadata as { readonly name: string };
  const kept = { name, annotations: { 'helm.sh/resource-policy': 'keep' }, labels: {} };
  const { apiVersion, kind: own, ...body } = rest;
  const crd = { apiVersion, kind: own, metadata: kept, ...body };
  const text = escaped(stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false }));
  const labelled = text.replace(LABELS, 'labels: {{- include "model-gateway.labels" (dict "root" .) | nindent 4 }}');
  const condition = `{{- if eq (include "model-gateway.installsCrd" (dict "root" . "name" ${JSON.stringify(name)})) "true" }}\n`;
  return `${HEADER}${condition}${labelled}{{- end }}\n`;
}

/** Names that Roles and notes need: `include "model-gateway.plurals" . | fromYamlArray`. */
function kindsTemplate(kinds: readonly Kind[]): string {
  const definition = (name: string, items: readonly string[]) =>
    `{{- define "model-gateway.${name}" -}}\n${items.map((item) => `- ${item}\n`).join('')}{{- end }}\n`;
  return [
    HEADER,
    definition(
      'plurals',
      kinds.map(({ plural }) => plural),
    ),
    definition(
      'statuses',
      kinds.map(({ plural }) => `${plural}/status`),
    ),
    definition(
      'crds',
      kinds.map(({ plural, group }) => `${plural}.${group}`),
    ),
  ].join('');
}

/** The chart's generated files, by folder. */
export function chartFolders(kinds: readonly Kind[]): readonly GeneratedFolder[] {
  const schema = `${JSON.stringify(jsonSchemaOf(chartValues), null, 2)}\n`;
  return [
    {
      path: 'helm/templates/crds/',
      isOurs: true,
      files: new Map([
        ['_kinds.tpl', kindsTemplate(kinds)],
        ...kinds.map((kind) => [`${kind.plural}.yaml`, crdTemplate(kind)] as const),
      ]),
    },
    { path: 'helm/dashboards/', isOurs: true, files: new Map([['gateway.json', dashboardJson()]]) },
    { path: 'helm/', isOurs: false, files: new Map([['values.schema.json', schema]]) },
  ];
}
