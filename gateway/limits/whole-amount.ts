/** What a settlement says was used: whole and at least 0 where it says so, else what was demanded. */
export function wholeAmount(used: number | undefined, demanded: number): number {
  return used !== undefined && Number.isSafeInteger(used) && used >= 0 ? used : demanded;
}
