/** What the three counting checks have in common: how many of something the last message has. */
import { z } from '#crds/config/words.ts';
import { type Check, defineCheck, everyCheck, found, not } from '../check.ts';
import { looked } from '../scope.ts';

interface Counting {
  readonly id: string;
  /** E.g. `Words`: the parameters are `minWords` and `maxWords`. */
  readonly noun: string;
  readonly max: number;
  /** What exactly is counted. */
  readonly unit: string;
  count(text: string): number;
}

export function countingCheck({ id, noun, max, unit, count }: Counting): Check {
  const [least, most] = [`min${noun}`, `max${noun}`];
  const bound = (absent: number, description: string) =>
    z.int().min(0).max(1_000_000_000).default(absent).describe(description);
  const name = noun.toLowerCase();
  return defineCheck({
    id,
    does: `Passes where the last message has so many ${name}: ${unit}.`,
    example: { [least]: 1, [most]: 4 },
    parameters: z
      .strictObject<z.ZodRawShape>({
        [least]: bound(0, `The fewest ${name} that pass.`),
        [most]: bound(max, `The most ${name} that pass.`),
        not,
        ...everyCheck,
      })
      .refine((given) => Number(given[least]) <= Number(given[most]), {
        path: [most],
        error: `must be at least ${least}`,
      })
      .transform((given) => ({
        low: Number(given[least]),
        high: Number(given[most]),
        not: given.not === true,
        failOnError: given.failOnError as boolean | undefined,
      })),
    compile({ low, high, not: turned }) {
      return (subject) => {
        const [text = ''] = looked(subject, false);
        const counted = count(text);
        return found(counted >= low && counted <= high, turned, { [name]: counted, [least]: low, [most]: high });
      };
    },
  });
}
