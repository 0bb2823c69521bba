/** OpenAI's wire format is the hub, so that a provider which speaks it is a row: see `kin.ts`. */
import type { Credentials, Operation, OperationWire, Provider } from '../provider.ts';
import { readOpenAiProblem } from './problem.ts';

const WIRES = {
  chat: { path: '/chat/completions' },
  complete: { path: '/completions' },
  embed: { path: '/embeddings' },
} as const satisfies Partial<Record<Operation, OperationWire>>;

export type OpenAiOperation = keyof typeof WIRES;

/** What the servers of this wire format say when a prompt does not fit, lower case. */
const CONTEXT_LENGTH_WORDS = [
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
  'maximum prompt length',
  'context length',
  'context window',
  'context size',
  'prompt is too long',
  'exceeded model token limit',
  'reduce the length of the messages',
] as const;

/** What a provider of OpenAI's wire format is called, where it is, and where it differs. */
export interface OpenAiKin extends Partial<Omit<Provider, 'dialect' | 'operations' | 'chat'>> {
  readonly name: string;
  /** Origin and version path, without a trailing slash; undefined: only with `custom_host`. */
  readonly baseUrl: string | undefined;
  /** Default: chat, complete and embed. */
  readonly operations?: readonly OpenAiOperation[];
}

/** `authorization: Bearer <api_key>`; nothing without a key. */
export function bearer(credentials: Credentials): readonly string[] {
  const key = credentials.api_key;
  return typeof key === 'string' && key !== '' ? ['authorization', `Bearer ${key}`] : [];
}

/** A provider of OpenAI's wire format; `kin` names only what differs from the defaults. Its operations are at OpenAI's paths. */
export function openAiCompatible({ operations = ['chat', 'complete', 'embed'], ...kin }: OpenAiKin): Provider {
  return {
    needsCredential: true,
    authorize: bearer,
    readProblem: readOpenAiProblem,
    contextLengthWords: CONTEXT_LENGTH_WORDS,
    streamUsageOnRequest: true,
    ...kin,
    dialect: 'openai',
    operations: Object.fromEntries(operations.map((operation) => [operation, WIRES[operation]])),
  };
}
