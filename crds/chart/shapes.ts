/** Shapes of Kubernetes that chart values are made of. Patterns are RE2: helm checks them. */
import { z } from '../config/words.ts';

/** As the API server takes it: `500m`, `1.5`, `64Mi`. */
export const quantity = z
  .string()
  .max(32)
  .regex(/^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/, { error: 'must be a quantity such as 500m, 1.5 or 64Mi' });

/** A name of one label, or nothing. */
export const optionalName = z
  .string()
  .max(253)
  .regex(/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/, {
    error: 'must be lower-case letters, digits, "-" and ".", or empty',
  });

/** Labels or annotations. */
export const stringMap = z.record(z.string(), z.string().max(4096)).meta({ maxProperties: 64 }).default({});

/** Part of a Kubernetes object that the API server checks. */
export const freeObject = z.record(z.string(), z.unknown());

export function freeList(description: string) {
  return z.array(freeObject).max(64).default([]).describe(description);
}

const CIDR = /^([0-9]{1,3}(\.[0-9]{1,3}){3}\/[0-9]{1,2}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\/[0-9]{1,3})$/;

export const cidr = z.string().max(49).regex(CIDR, { error: 'must be a range such as 10.0.0.0/8 or fd00::/8' });

export const intOrPercent = z.union([
  z.int().min(0).max(100),
  z
    .string()
    .max(4)
    .regex(/^[0-9]{1,3}%$/, { error: 'must be a number or a percentage such as 25%' }),
]);

export interface Amounts {
  readonly cpu: string;
  readonly memory: string;
}

/** Requests and limits; helm merges what a user gives into these. */
export function resources(requests: Amounts, limits: Partial<Amounts>) {
  const amounts = z.record(z.string(), z.union([quantity, z.number().min(0).max(1e6)])).meta({ maxProperties: 16 });
  return z
    .strictObject({
      requests: amounts.default({ ...requests }).describe('What is set aside for a container.'),
      limits: amounts.default({ ...limits }).describe('What a container may use at most.'),
    })
    .prefault({})
    .describe('Resources of a container.');
}
