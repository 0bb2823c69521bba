/** Anything with a share of the traffic. */
export interface Weighted {
  readonly weight: number;
}

/**
 * One of `choices`, with the chance of its weight; a weight of 0 is never drawn. `random` is in [0, 1).
 * undefined: nothing has a weight.
 */
export function drawByWeight<T extends Weighted>(choices: readonly T[], random: number): T | undefined {
  let total = 0;
  for (const { weight } of choices) total += weight;
  let rest = random * total;
  let drawn: T | undefined;
  for (const choice of choices) {
    if (choice.weight <= 0) continue;
    // Kept even when the sum of fractions was rounded: the last one with a weight stands in.
    drawn = choice;
    rest -= choice.weight;
    if (rest < 0) break;
  }
  return drawn;
}
