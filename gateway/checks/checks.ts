/** The catalogue of checks, a row each. */
import type { Check, CompiledCheck } from './check.ts';
import { jsonKeys } from './json/json-keys.ts';
import { jsonSchema } from './json/json-schema.ts';
import type { CheckMeans } from './means.ts';
import { bedrockGuardrails } from './remote/bedrock-guardrails.ts';
import { classify } from './remote/classify.ts';
import { llamaGuard } from './remote/llama-guard.ts';
import { llmJudge } from './remote/llm-judge.ts';
import { log } from './remote/log.ts';
import { moderation } from './remote/moderation.ts';
import { policy } from './remote/policy.ts';
import { presidio } from './remote/presidio.ts';
import { webhook } from './remote/webhook.ts';
import { allowedRequestTypes } from './request/allowed-request-types.ts';
import { inlineImageUrls } from './request/inline-image-urls.ts';
import { jwt } from './request/jwt.ts';
import { modelRules } from './request/model-rules.ts';
import { modelWhitelist } from './request/model-whitelist.ts';
import { requiredMetadataKeyPairs } from './request/required-metadata-key-pairs.ts';
import { requiredMetadataKeys } from './request/required-metadata-keys.ts';
import { pii } from './sensitive/pii.ts';
import { promptInjection } from './sensitive/prompt-injection.ts';
import { secrets } from './sensitive/secrets.ts';
import { addPrefix } from './text/add-prefix.ts';
import { characterCount } from './text/character-count.ts';
import { contains } from './text/contains.ts';
import { containsCode } from './text/contains-code.ts';
import { endsWith } from './text/ends-with.ts';
import { allLowercase, allUppercase } from './text/letter-case.ts';
import { notNull } from './text/not-null.ts';
import { regexMatch } from './text/regex-match.ts';
import { regexReplace } from './text/regex-replace.ts';
import { sentenceCount } from './text/sentence-count.ts';
import { validUrls } from './text/valid-urls.ts';
import { wordCount } from './text/word-count.ts';

export const CHECKS: readonly Check[] = [
  regexMatch,
  regexReplace,
  sentenceCount,
  wordCount,
  characterCount,
  jsonSchema,
  jsonKeys,
  contains,
  validUrls,
  containsCode,
  allUppercase,
  allLowercase,
  endsWith,
  notNull,
  addPrefix,
  modelWhitelist,
  modelRules,
  allowedRequestTypes,
  jwt,
  requiredMetadataKeys,
  requiredMetadataKeyPairs,
  inlineImageUrls,
  pii,
  secrets,
  promptInjection,
  log,
  webhook,
  classify,
  policy,
  moderation,
  llmJudge,
  presidio,
  llamaGuard,
  bedrockGuardrails,
];

const BY_ID: ReadonlyMap<string, Check> = new Map(
  CHECKS.flatMap((check) => [check.id, ...check.aliases].map((id) => [id.toLowerCase(), check] as const)),
);
const ANY_VENDOR = /^[a-z0-9][a-z0-9-]{0,62}(\.\w+)$/;
const VENDOR = '<vendor>';

/** Ids are matched without regard to case; without a dot, `default.` is meant. Undefined: there is none. */
export function findCheck(id: string): Check | undefined {
  const lower = id.toLowerCase();
  const full = lower.includes('.') ? lower : `default.${lower}`;
  return BY_ID.get(full) ?? BY_ID.get(full.replace(ANY_VENDOR, `${VENDOR}$1`));
}

/** The check, or what is wrong, naming the field. Its id is the catalogue's; the vendor is the one that was asked for. */
export function compileCheck(id: string, parameters: unknown, means: CheckMeans): CompiledCheck | string {
  const check = findCheck(id);
  if (check === undefined) return `id "${id.slice(0, 64)}" is no check of the catalogue`;
  const compiled = check.compile(parameters ?? {}, means);
  if (typeof compiled === 'string' || !check.id.startsWith(VENDOR)) return compiled;
  return { ...compiled, id: id.toLowerCase() };
}
