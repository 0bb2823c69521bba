import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { CheckError, defineCheck, everyCheck, type Finding, found, not } from '../check.ts';
import { endpointUrl, requestHeaders, timeout, words } from '../parameters.ts';
import { findSpans, type Span, withoutOverlaps } from '../sensitive/spans.ts';
import { textsToSend } from './conversation.ts';
import { postJson, unknownShape } from './post-json.ts';

const NAME = 'The analyzer';
/** Each text is a call. */
const MAX_TEXTS = 50;

export const presidio = defineCheck({
  id: 'default.presidio',
  does: 'Asks a Presidio analyzer for personal data, names and places too: fails where it finds any, or with `redact` passes and puts `[PERSON]` and the like in its place.',
  example: { apiEndpoint: 'http://presidio-analyzer:3000/analyze', entities: ['PERSON', 'LOCATION'], redact: true },
  mutates: ({ redact }) => redact,
  parameters: z
    .strictObject({
      apiEndpoint: endpointUrl('The analyze endpoint.'),
      headers: requestHeaders.default({}),
      language: z.string().min(2).max(16).default('en').describe('Language of the texts.'),
      entities: words('Kinds of data, as the analyzer calls them; all where nothing is said.').optional(),
      scoreThreshold: z.number().min(0).max(1).default(0.5).describe('The score from which something counts.'),
      redact: z.boolean().default(false).describe('Replace what is found instead of failing.'),
      timeout: timeout(10_000),
      not: not.describe('Passes where something is found.'),
      ...everyCheck,
    })
    .refine((given) => !(given.redact && given.not), { path: ['not'], error: 'must be false where redact is true' }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile(
    { apiEndpoint, headers, language, entities, scoreThreshold, redact, timeout: timeoutMs, not: turned },
    means,
  ) {
    const endpoint = { name: NAME, url: apiEndpoint, headers, timeoutMs };
    const options = { language, score_threshold: scoreThreshold, ...(entities !== undefined && { entities }) };
    return async (subject, signal): Promise<Finding> => {
      const distinct = [...new Set(textsToSend(subject).map(({ text }) => text))];
      if (distinct.length > MAX_TEXTS)
        throw new CheckError(`There are ${distinct.length} texts: this check sends at most ${MAX_TEXTS}.`);
      const spans = new Map<string, readonly Span[]>();
      const analyze = async (text: string) => {
        const reply = await postJson(means, endpoint, { text, ...options }, signal);
        spans.set(text, withoutOverlaps(readSpans(reply, text, scoreThreshold)));
      };
      await Promise.all(distinct.map(analyze));
      const { counts, total, rewrites } = findSpans(subject.texts, (text) => spans.get(text) ?? [], redact);
      if (redact) return { verdict: true, data: { entities: counts, redacted: total }, rewrites };
      return found(total === 0, turned, { entities: counts });
    };
  },
});

/** Its offsets count code points, ours UTF-16 units. */
function readSpans(reply: unknown, text: string, threshold: number): readonly Span[] {
  if (!Array.isArray(reply)) throw unknownShape(NAME, WANTED);
  const offsets = offsetsOf(text);
  const spans: Span[] = [];
  for (const item of reply) {
    if (!isJson(item) || typeof item.entity_type !== 'string') throw unknownShape(NAME, WANTED);
    if (typeof item.score === 'number' && item.score < threshold) continue;
    const [start, end] = [offsets(item.start), offsets(item.end)];
    if (start === undefined || end === undefined || start >= end) throw unknownShape(NAME, WANTED);
    spans.push({ kind: item.entity_type.replace(/\W/g, '_').slice(0, 64), start, end });
  }
  return spans;
}

const WANTED = 'a list of {entity_type, start, end, score}';

function offsetsOf(text: string): (point: unknown) => number | undefined {
  const units = [0];
  for (const character of text) units.push((units.at(-1) ?? 0) + character.length);
  return (point) => (typeof point === 'number' ? units[point] : undefined);
}
