/** Values of the Helm chart. `helm/values.schema.json` is generated from this; `helm/values.yaml` says the same defaults. */
import { z } from '../config/words.ts';
import { namespaceName } from '../object.ts';
import { MAX_SHARDS } from '../snapshot/index-document.ts';
import { gatewayValues } from './gateway-values.ts';
import { alertWebhook, apiKeyPrefix, store, userApiKey } from './limit-values.ts';
import { monitoring, networkPolicy } from './network.ts';
import { freeObject } from './shapes.ts';
import { workloadFields } from './workload.ts';

/** Powers of two: shards are doubled. */
const SHARD_COUNTS = Array.from({ length: Math.log2(MAX_SHARDS) + 1 }, (_, exponent) => 2 ** exponent);

/** `x`, `registry.example:5000/team/x`. */
const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9._-]*(:[0-9]{1,5})?(\/[a-z0-9][a-z0-9._-]*)*$/;

const image = z
  .strictObject({
    repository: z
      .string()
      .min(1)
      .max(255)
      .regex(REPOSITORY, { error: 'must be the name of an image, without tag' })
      .default('model-gateway')
      .describe('Name of the image, with its registry.'),
    tag: z
      .string()
      .max(128)
      .regex(/^([A-Za-z0-9_][A-Za-z0-9._-]*)?$/, { error: 'must be the tag of an image, or empty' })
      .default('')
      .describe("Tag of the image. Empty: the chart's appVersion."),
    digest: z
      .string()
      .max(71)
      .regex(/^(sha256:[0-9a-f]{64})?$/, { error: 'must be sha256: and 64 hexadecimal digits, or empty' })
      .default('')
      .describe('Digest of the image, which pins it. Empty: not pinned.'),
    pullPolicy: z
      .enum(['IfNotPresent', 'Always', 'Never'])
      .default('IfNotPresent')
      .describe('When the image is pulled.'),
    pullSecrets: z
      .array(z.strictObject({ name: z.string().min(1).max(253) }))
      .max(16)
      .default([])
      .describe('Secrets with the credentials of the registry.'),
  })
  .prefault({})
  .describe('The one image of operator and gateway.');

const operatorValues = z
  .strictObject(
    workloadFields({
      replicas: { count: 2, description: 'Replicas; one of them writes, the others stand by.' },
      requests: { cpu: '100m', memory: '256Mi' },
      limits: { memory: '1Gi' },
    }),
  )
  .prefault({})
  .describe('What reads the custom resources and publishes them to the gateways.');

/** Everything that a user may set. Strict: a misspelt value is refused with its path. */
export const chartValues = z
  .strictObject({
    fullnameOverride: z
      .string()
      .max(53)
      .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/, { error: 'must be lower-case letters, digits and "-", or empty' })
      .default('')
      .describe("What all names begin with. Empty: the release's name."),
    image,
    watchNamespaces: z
      .array(namespaceName.min(1))
      .max(256)
      .meta({ uniqueItems: true })
      .default([])
      .describe('Namespaces whose objects are served. Empty: all of the cluster.'),
    organisationNamespace: namespaceName
      .min(1)
      .default('model-gateway')
      .describe('Namespace whose objects can be shared with others.'),
    listenHost: z
      .enum(['0.0.0.0', '::'])
      .default('0.0.0.0')
      .describe('Address that the containers listen on; "::" for IPv6 and dual stack.'),
    runAsUser: z
      .int()
      .min(1)
      .max(2_147_483_647)
      .optional()
      .describe('User and group of the containers. Absent (null): the cluster assigns them, as OpenShift does.')
      .default(65532),
    crds: z
      .strictObject({
        install: z
          .boolean()
          .default(true)
          .describe('Whether the chart installs and upgrades the CRDs. They stay when the release goes.'),
      })
      .prefault({})
      .describe('The CustomResourceDefinitions.'),
    rbac: z
      .strictObject({
        aggregateToDefaultRoles: z
          .boolean()
          .default(false)
          .describe('Whether the roles view, edit and admin of a namespace hold for the custom resources too.'),
      })
      .prefault({})
      .describe('Rights of users.'),
    snapshot: z
      .strictObject({
        maxShards: z
          .int()
          .min(1)
          .max(MAX_SHARDS)
          .refine((count) => SHARD_COUNTS.includes(count), { error: `must be one of ${SHARD_COUNTS.join(', ')}` })
          .meta({ enum: SHARD_COUNTS })
          .default(16)
          .describe('Objects of each kind that the configuration may be cut into: a power of two, 1 MiB each.'),
      })
      .prefault({})
      .describe('How the configuration is carried to the gateways.'),
    store,
    apiKeyPrefix,
    userApiKey,
    alertWebhook,
    operator: operatorValues,
    gateway: gatewayValues,
    networkPolicy,
    monitoring,
    global: freeObject.optional().describe('Values that a parent chart shares with its parts; not read.'),
    enabled: z.boolean().optional().describe('For the condition of a parent chart; not read.'),
  })
  .describe('Values of the model-gateway chart.');

export type ChartValues = z.infer<typeof chartValues>;
