/** Metadata that an object adds to requests. */
import { z } from './words.ts';

const MAX_KEYS = 64;

export function metadataDefaults(description: string) {
  return z
    .record(z.string().min(1).max(128), z.string().max(128))
    .refine((value) => Object.keys(value).length <= MAX_KEYS, { error: `must have at most ${MAX_KEYS} keys` })
    .meta({ description, maxProperties: MAX_KEYS });
}
