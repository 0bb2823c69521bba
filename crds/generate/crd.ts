/** A kind's CustomResourceDefinition. */
import type { Kind, PrinterColumn } from '../kinds/kind.ts';
import { jsonSchemaOf } from './json-schema.ts';
import { type Structural, structuralSchema } from './structural.ts';

/** Levels of a recursive field that are written out: more would exceed what CEL rules may cost. */
export const UNROLLED_LEVELS = 3;
export const CATEGORY = 'modelgateway';

const text = (maxLength: number, description: string) => ({ type: 'string', maxLength, description });

const condition: Structural = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: { ...text(316, 'Accepted, ResolvedRefs, Programmed or Ready.'), minLength: 1 },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Whether it holds.' },
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      minimum: 0,
      description: 'Generation of the spec that was judged.',
    },
    lastTransitionTime: {
      type: 'string',
      format: 'date-time',
      maxLength: 64,
      description: 'When the status last changed.',
    },
    reason: {
      ...text(1024, 'One word, for programs.'),
      minLength: 1,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: text(32768, 'What is the matter, for people.'),
  },
};

const commonStatus: Structural = {
  type: 'object',
  description: 'What became of it. Written by the operator.',
  // What waits for health takes an object without conditions for a healthy one.
  default: {
    conditions: [
      {
        type: 'Ready',
        status: 'Unknown',
        reason: 'Pending',
        message: 'Waiting for the operator.',
        lastTransitionTime: '1970-01-01T00:00:00Z',
      },
    ],
  },
  properties: {
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      minimum: 0,
      description: 'Generation of the spec that was judged.',
    },
    conditions: {
      type: 'array',
      maxItems: 16,
      description:
        'Accepted: the spec is valid. ResolvedRefs: what it names exists. Programmed: every replica serves it. Ready: all of them.',
      items: condition,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  },
};

const conditionColumn = (name: string, priority = 0): PrinterColumn => ({
  name,
  type: 'string',
  jsonPath: `.status.conditions[?(@.type=="${name}")].status`,
  priority,
});

const COMMON_COLUMNS: readonly PrinterColumn[] = [
  conditionColumn('Accepted'),
  conditionColumn('Programmed'),
  conditionColumn('Ready'),
  { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

function column({ name, type, jsonPath, description, priority = 0 }: PrinterColumn): Structural {
  return { name, type, jsonPath, ...(description && { description }), ...(priority > 0 && { priority }) };
}

/** Structural schema of a kind's spec, with its rules. */
export function specSchema(kind: Kind): Structural {
  return structuralSchema(jsonSchemaOf(kind.specShape), {
    recursiveField: kind.recursiveField,
    levels: UNROLLED_LEVELS,
    validations: (level) =>
      kind.celRules
        .filter(({ levels = UNROLLED_LEVELS }) => level <= levels)
        .map(({ levels: _levels, ...validation }) => validation),
  });
}

const STATUS_OPTIONS = { levels: 1, validations: () => [] };

/** A field that is not declared would be refused by server-side apply. */
function statusSchema({ statusShape }: Kind): Structural {
  if (statusShape === undefined) return commonStatus;
  const { properties } = structuralSchema(jsonSchemaOf(statusShape), STATUS_OPTIONS) as { properties: Structural };
  return { ...commonStatus, properties: { ...(commonStatus['properties'] as Structural), ...properties } };
}

function openApiSchema(kind: Kind): Structural {
  return {
    type: 'object',
    description: kind.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: `${kind.group}/${kind.version}` },
      kind: { type: 'string', description: kind.kind },
      metadata: { type: 'object' },
      spec: specSchema(kind),
      status: statusSchema(kind),
    },
  };
}

/** The object that `kubectl apply` takes. */
export function customResourceDefinition(kind: Kind): Structural {
  const { plural, singular, shortName, group, version } = kind;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural,
        singular,
        shortNames: [shortName],
        categories: [CATEGORY],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: openApiSchema(kind) },
          subresources: { status: {} },
          additionalPrinterColumns: [...kind.printerColumns, ...COMMON_COLUMNS].map(column),
        },
      ],
    },
  };
}
