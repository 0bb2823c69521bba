/** Core v1 Secret, as it is read: nothing of it is ever generated here but by the operator. */
import { z } from '../config/words.ts';
import { metadataSchema } from '../object.ts';

const base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/\s]*={0,2}\s*$/, { error: 'must be base64: plain text belongs under stringData' });

export const secretSchema = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: metadataSchema,
  type: z.string().optional(),
  data: z.record(z.string(), base64).optional(),
  /** Plain text; wins over `data`, as in Kubernetes. */
  stringData: z.record(z.string(), z.string()).optional(),
});

export type Secret = z.infer<typeof secretSchema>;

/** Plain value of a key, read as UTF-8; undefined where the Secret does not have it. */
export function secretValue(secret: Secret, key: string): string | undefined {
  const plain = own(secret.stringData, key);
  if (plain !== undefined) return plain;
  const encoded = own(secret.data, key);
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
}

function own(values: Record<string, string> | undefined, key: string): string | undefined {
  return values !== undefined && Object.hasOwn(values, key) ? values[key] : undefined;
}
