/** Finds the word that somebody probably meant. */

/** `maxAge`, `max-age` and `Max_Age` are one word in three spellings. */
function normal(word: string): string {
  return word
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

/** Levenshtein distance; rows of the table are kept one at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

const MAX_WORD = 64;
const MIN_PREFIX = 4;

/** How far apart two words are; undefined: not near. One that begins with the other is one step away. */
function steps(wanted: string, candidate: string): number | undefined {
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  if (short.length >= MIN_PREFIX && long.startsWith(short)) return wanted === candidate ? 0 : 1;
  const apart = distance(wanted, candidate);
  return apart <= Math.max(1, Math.floor(long.length * 0.45)) ? apart : undefined;
}

/** The candidate nearest to `word`, or undefined where none is near. A word over 64 characters is never compared. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > MAX_WORD) return undefined;
  const wanted = normal(word);
  const near = candidates.flatMap((candidate) => {
    const apart = steps(wanted, normal(candidate));
    return apart === undefined ? [] : [{ candidate, apart }];
  });
  return near.sort((a, b) => a.apart - b.apart)[0]?.candidate;
}
