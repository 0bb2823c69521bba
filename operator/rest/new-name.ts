/** Names of new objects, from what people call them. */
import { randomInt } from 'node:crypto';

/** A Secret's name, which has more behind it, must find room too. */
const MAX_CHARACTERS = 40;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** `Team A: gold` gives `team-a-gold`; `fallback` where nothing of it can stand in a name. */
export function slugOf(text: string, fallback: string): string {
  const slug = text
    .normalize('NFKD')
    .replace(/\p{Mark}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_CHARACTERS)
    .replace(/^-+|-+$/g, '');
  return slug === '' ? fallback : slug;
}

/** Lower-case letters and digits. */
export function randomWord(characters: number): string {
  return Array.from({ length: characters }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
