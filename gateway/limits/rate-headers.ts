/** `x-ratelimit-*` of the strictest rate limit of each type: the one that has the least part of itself left. */
import type { Seat } from './limit.ts';
import type { Reading } from './store.ts';

/** How limits stood when they were asked. */
export interface Standing {
  readonly seats: readonly Seat[];
  /** In order of the seats. */
  readonly readings: readonly Reading[];
}

interface Strictest {
  value: number;
  reading: Reading | undefined;
  part: number;
}

const namesOf = (type: 'requests' | 'tokens') => ({
  type,
  limit: `x-ratelimit-limit-${type}`,
  remaining: `x-ratelimit-remaining-${type}`,
  reset: `x-ratelimit-reset-${type}`,
});
const NAMES = [namesOf('requests'), namesOf('tokens')];

export function hasRates(standings: readonly Standing[]): boolean {
  return standings.some(({ seats }) => seats.some(({ limit }) => limit.isRate));
}

/** Adds to a flat list of names and values. */
export function addRateHeaders(into: string[], standings: readonly Standing[]): void {
  for (const names of NAMES) {
    const strictest: Strictest = { value: 0, reading: undefined, part: Number.POSITIVE_INFINITY };
    for (const standing of standings) findStrictest(strictest, standing, names.type);
    const { reading, value } = strictest;
    if (reading === undefined) continue;
    into.push(names.limit, String(value));
    into.push(names.remaining, String(Math.floor(reading.remaining)));
    into.push(names.reset, String(wholeSeconds(reading.resetMs ?? 0)));
  }
}

function findStrictest(strictest: Strictest, { seats, readings }: Standing, type: string): void {
  for (let at = 0; at < seats.length; at += 1) {
    const limit = seats[at]?.limit;
    const reading = readings[at];
    if (reading === undefined || limit?.value === undefined || limit.unit !== type) continue;
    const part = limit.value === 0 ? 0 : reading.remaining / limit.value;
    if (part >= strictest.part) continue;
    strictest.part = part;
    strictest.value = limit.value;
    strictest.reading = reading;
  }
}

/** Rounded up, so that whoever waits for so long has waited long enough. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
