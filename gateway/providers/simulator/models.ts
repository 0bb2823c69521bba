/** The one table of what the simulator's model names do. Documentation and server both read it. */

/** How one request is answered. Absent fields: at once, whole and right. */
export interface Behaviour {
  /** Status of an error answer. */
  readonly status?: number;
  readonly errorCode?: string;
  readonly retryAfterS?: number;
  /** Requests of this name that fail with 503 before one is answered. */
  readonly failures?: number;
  /** Before the first byte. */
  readonly delayMs?: number;
  /** Between two events of a stream. */
  readonly gapMs?: number;
  /** Events of a stream, or half of an unary answer, before the ending goes wrong. */
  readonly spoilAfter?: number;
  readonly spoil?: 'cut' | 'stall' | 'garbage';
  readonly words?: number;
  readonly callsTool?: boolean;
  readonly finishReason?: string;
}

interface Row {
  readonly name: string;
  readonly does: string;
  /** The part of the name after the last dash, where the row has a number. */
  readonly behave: (n: number) => Behaviour;
}

const ROWS: readonly Row[] = [
  {
    name: 'echo',
    does: 'Repeats the last user message, of which at most 256 tokens (1,024 characters) unless the request names a maximum. So does any name that is not in this table.',
    behave: () => ({}),
  },
  {
    name: 'status-<code>',
    does: 'Answers with this status (300-599) and an error body; 3xx with a location.',
    behave: (status) => ({ status }),
  },
  {
    name: 'rate-limited-<seconds>',
    does: 'Answers 429 with `retry-after`.',
    behave: (retryAfterS) => ({ status: 429, errorCode: 'rate_limit_exceeded', retryAfterS }),
  },
  {
    name: 'context-too-small',
    does: 'Answers 400 `context_length_exceeded`.',
    behave: () => ({ status: 400, errorCode: 'context_length_exceeded' }),
  },
  {
    name: 'flaky-<n>',
    does: 'Fails n times with 503, answers once, and so on.',
    behave: (failures) => ({ failures }),
  },
  { name: 'delay-<ms>', does: 'Waits before the first byte.', behave: (delayMs) => ({ delayMs }) },
  { name: 'slow-<ms>', does: 'Waits before each event of a stream.', behave: (gapMs) => ({ gapMs }) },
  {
    name: 'cut-after-<n>',
    does: 'Breaks the connection after n events of a stream, or in the middle of an unary answer.',
    behave: (spoilAfter) => ({ spoil: 'cut', spoilAfter }),
  },
  {
    name: 'stall-after-<n>',
    does: 'Sends nothing more after n events of a stream, or after half of an unary answer.',
    behave: (spoilAfter) => ({ spoil: 'stall', spoilAfter }),
  },
  {
    name: 'garbage',
    does: 'Answers 200 with something that is not the protocol.',
    behave: () => ({ spoil: 'garbage', spoilAfter: 0 }),
  },
  {
    name: 'garbage-after-<n>',
    does: 'Sends a broken event after n events of a stream; an unary answer turns into garbage half-way.',
    behave: (spoilAfter) => ({ spoil: 'garbage', spoilAfter }),
  },
  { name: 'long-<n>', does: 'Answers with n words.', behave: (words) => ({ words }) },
  { name: 'tool-call', does: 'Calls the first of the tools given.', behave: () => ({ callsTool: true }) },
  {
    name: 'content-filter',
    does: 'Ends with finish reason `content_filter`.',
    behave: () => ({ finishReason: 'content_filter' }),
  },
];

/** Model names and what they do, for the documentation. Names can be joined: `delay-200+status-503`. */
export const SIMULATOR_MODELS: readonly { readonly name: string; readonly does: string }[] = ROWS.map(
  ({ name, does }) => ({ name, does }),
);

const BY_STEM = new Map(ROWS.map((row) => [row.name.replace(/-<.*>$/, ''), row]));
/** Longest waits and answers that a name can ask for: numbers of more digits are not read as such. */
const NUMBERED = /^(.+?)-(\d{1,6})$/;

function behaviourOfPart(part: string): Behaviour {
  const [, stem = part, digits] = NUMBERED.exec(part) ?? [];
  const row = BY_STEM.get(stem);
  if (row === undefined || row.name.endsWith('>') !== (digits !== undefined)) return {};
  const behaviour = row.behave(Number(digits));
  return behaviour.status !== undefined && (behaviour.status < 300 || behaviour.status > 599) ? {} : behaviour;
}

/** What a model name asks for; of joined names the later part wins. Never throws. */
export function behaviourOf(model: string): Behaviour {
  return Object.assign({}, ...model.split('+').map(behaviourOfPart));
}
