/** Values about where limits are counted, keys that are made, and who is told of budgets. */
import { z } from '../config/words.ts';
import { DEFAULT_KEY_PREFIX, KEY_PREFIX_FORM } from '../keys/key-form.ts';
import { optionalName } from './shapes.ts';

/** As `--store` takes it, without a password. */
const STORE_URL =
  /^(rediss?(\+(sentinel|cluster))?:\/\/([^:@/\s]+:@)?([^:@/\s,[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(,([^:@/\s,[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?)*(\/[^@\s?#]*)?)?$/;
const STORE_URL_MEANING =
  'must be such as redis://redis.cache:6379, rediss+sentinel://one:26379,two:26379/master or empty; a password is in store.passwordSecret';

export function keyOfSecret(key: string, description: string) {
  return z
    .strictObject({
      name: optionalName.default('').describe('Name of the Secret, in the namespace of the release. Empty: none.'),
      key: z
        .string()
        .max(253)
        .regex(/^[-._a-zA-Z0-9]+$/, { error: 'must be a key of a Secret' })
        .default(key)
        .describe('Which of its keys.'),
    })
    .prefault({})
    .describe(description);
}

export const store = z
  .strictObject({
    url: z
      .string()
      .max(2048)
      .regex(STORE_URL, { error: STORE_URL_MEANING })
      .default('')
      .describe('Redis or Valkey that counts limits for all gateways. Empty: each takes its share of them.'),
    passwordSecret: keyOfSecret('password', 'Where its password is; read when a gateway starts.'),
    caSecret: keyOfSecret('ca.crt', 'Certificates (PEM) that its own must lead to, for rediss.'),
    timeoutMs: z
      .int()
      .min(1)
      .max(60_000)
      .default(25)
      .describe('Milliseconds that a request waits for it, before a gateway counts alone.'),
  })
  .prefault({})
  .describe('Where limits are counted.');

export const apiKeyPrefix = z
  .string()
  .max(16)
  .regex(KEY_PREFIX_FORM, { error: 'must be 1 to 16 letters, digits, "_" and "-"' })
  .default(DEFAULT_KEY_PREFIX)
  .describe('What keys that are made begin with, so that secret scanners know them.');

export const userApiKey = z
  .strictObject({
    rotationPeriod: z
      .enum(['', 'weekly', 'monthly'])
      .default('')
      .describe('How often keys of users are replaced; a key may not say otherwise. Empty: as each says.'),
    ttlDays: z.int().min(0).max(3650).default(0).describe('Days after which a key of a user ends. 0: as each says.'),
  })
  .prefault({})
  .describe('What is enforced for the keys of users, where their Workspace says nothing.');

export const alertWebhook = z
  .strictObject({
    url: z
      .string()
      .max(2048)
      .regex(/^(https?:\/\/[^\s]+)?$/, { error: 'must be a URL such as https://alerts.example/hook, or empty' })
      .default('')
      .describe('Where alerts of budgets are posted. Empty: nowhere.'),
    secret: keyOfSecret('url', 'Where the URL is, if it holds a token.'),
  })
  .prefault({})
  .describe('Who is told when a budget nears its end.');
