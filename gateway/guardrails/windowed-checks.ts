/** Which checks can be put to a part of an answer: those that forbid something. What is demanded may still be to come. */
type Parameters = Readonly<Record<string, unknown>>;

const NEVER = () => false;
const whenTurned = ({ not }: Parameters): boolean => not === true;

/** By id; any other check looks for something that must not be there, unless it is turned round. */
const RULES: ReadonlyMap<string, (parameters: Parameters) => boolean> = new Map<
  string,
  (parameters: Parameters) => boolean
>([
  ['default.regexMatch', whenTurned],
  ['default.contains', ({ operator = 'any', not }) => (operator === 'none') !== (not === true)],
  ['default.containsCode', whenTurned],
  ['default.sentenceCount', NEVER],
  ['default.wordCount', NEVER],
  ['default.characterCount', NEVER],
  ['default.jsonSchema', NEVER],
  ['default.jsonKeys', NEVER],
  ['default.endsWith', NEVER],
  ['default.notNull', NEVER],
  ['default.validUrls', NEVER],
  ['default.log', NEVER],
  ['default.webhook', NEVER],
]);

/** `id` in the catalogue's spelling. */
export function isWindowed(id: string, parameters: Parameters): boolean {
  return RULES.get(id)?.(parameters) ?? !whenTurned(parameters);
}
