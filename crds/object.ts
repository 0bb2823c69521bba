/** The envelope of every manifest, and the words that all kinds share. */
import { z } from './config/words.ts';

export const API_GROUP = 'modelgateway.dev';
export const API_VERSION = 'v1alpha1';

export const ANNOTATIONS = {
  /** `"*"` or `"team-a,team-b"`: other workspaces that may use an object of the organisation namespace. */
  allowedWorkspaces: `${API_GROUP}/allowed-workspaces`,
  /** `"true"`: the default config of its workspace. */
  isDefault: `${API_GROUP}/default`,
  /** `"input"`, `"output"` or `"input,output"`: a guardrail of every request of its workspace, of the organisation's for all. */
  defaultGuardrail: `${API_GROUP}/default-guardrail`,
  /** A word that was not there before: budgets of the object start anew. With `.<group id>` behind it, that of one group. */
  resetUsage: `${API_GROUP}/reset-usage`,
  /** A word that was not there before: nothing is given any more of what the cache has kept for the Workspace. */
  purgeCache: `${API_GROUP}/purge-cache`,
  /** A word that was not there before: the key is replaced. */
  rotate: `${API_GROUP}/rotate`,
  /** `"3"`: the version of a prompt that is published. `"3@5"`: until a later version than 5 is published by an edit. */
  publishedVersion: `${API_GROUP}/published-version`,
  /** `"staging=3,beta=4@5"`: versions that have labels, in the same words. Version 0: none has. */
  versionLabels: `${API_GROUP}/version-labels`,
  /** `"true"`, by the operator: an edit has published this version. */
  published: `${API_GROUP}/published`,
  /** `"staging,beta"`, by the operator: an edit has given this version these labels. */
  labels: `${API_GROUP}/labels`,
} as const;

const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Name of an object: lower-case letters, digits, "-" and ".", at most 253 characters. */
export const objectName = z.string().max(253).regex(DNS_SUBDOMAIN, {
  error: 'must be lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
});

/** Name of a namespace: as above without ".", at most 63 characters. */
export const namespaceName = z
  .string()
  .max(63)
  .regex(DNS_LABEL, { error: 'must be lower-case letters, digits and "-", and begin and end with a letter or digit' });

const ownerReference = z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() });

/** Loose: an API server adds fields of its own, and they are kept. */
export const metadataSchema = z.looseObject({
  name: objectName,
  namespace: namespaceName.default('default'),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.int().min(0).optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReference).optional(),
});

/** What every manifest has, whatever its kind; the rest is kept as it came. */
export const envelopeSchema = z.looseObject({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: metadataSchema,
});

export type Metadata = z.infer<typeof metadataSchema>;
export type Envelope = z.infer<typeof envelopeSchema>;
