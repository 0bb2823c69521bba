/** What a check is: one file, one row of `checks.ts`. Everything that can be prepared is, once per snapshot, in `compile`. */
import { z } from '#crds/config/words.ts';
import { problemsOf } from '#crds/problems.ts';
import type { CheckMeans } from './means.ts';
import type { Rewrite } from './rewrite.ts';
import type { Subject } from './subject.ts';

/** JSON that `hook_results` shows: counts, words of the parameters, an explanation. Never a secret that was found. */
export type CheckData = Readonly<Record<string, unknown>>;

export interface Finding {
  /** Whether the check is passed; `not` is applied already. */
  readonly verdict: boolean;
  readonly data: CheckData;
  /** What a mutator wants changed in the body. */
  readonly rewrites?: readonly Rewrite[];
}

/** Throws CheckError where no verdict is possible. A promise only of checks that have `timeoutMs`. */
export type RunCheck = (subject: Subject, signal: AbortSignal) => Finding | Promise<Finding>;

export interface CompiledCheck {
  /** The catalogue's spelling, e.g. `default.regexMatch`. */
  readonly id: string;
  readonly sides: CheckSides;
  /** Runs alone, on what the mutators before it made of the body. */
  readonly mutates: boolean;
  /** How long one run may wait; undefined: it never waits. */
  readonly timeoutMs: number | undefined;
  /** Whether no verdict is a failed one. */
  readonly failOnError: boolean;
  readonly run: RunCheck;
}

export type CheckSides = 'request' | 'response' | 'both';

export interface Check {
  readonly id: string;
  /** Further ids under which it is known. */
  readonly aliases: readonly string[];
  /** One sentence for the reference. */
  readonly does: string;
  /** Parameters that work, for the reference. */
  readonly example: CheckData;
  readonly sides: CheckSides;
  readonly parameters: z.ZodType;
  /** The check, or what is wrong with the parameters: `parameters.rule must be ...`. */
  compile(parameters: unknown, means: CheckMeans): CompiledCheck | string;
}

interface CommonParameters {
  readonly failOnError?: boolean | undefined;
}

interface CheckRow<Parameters extends CommonParameters> {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly does: string;
  readonly example: CheckData;
  /** Default: both. */
  readonly sides?: CheckSides;
  readonly mutates?: (parameters: Parameters) => boolean;
  readonly parameters: z.ZodType<Parameters>;
  /** Needed where `run` may return a promise. */
  readonly timeoutMs?: (parameters: Parameters) => number;
  /** What holds where `failOnError` is left out. Default: true. */
  readonly failOnError?: boolean;
  compile(parameters: Parameters, means: CheckMeans): RunCheck;
}

/** Why there is no verdict. Its message is shown to the caller: it holds nothing of the subject, of headers or URLs. */
export class CheckError extends Error {
  readonly data: CheckData | undefined;

  constructor(message: string, data?: CheckData, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CheckError';
    this.data = data;
  }
}

/** Parameter of checks whose verdict may be turned round. */
export const not = z.boolean().default(false).describe('Turns the verdict round.');

/** `absent`: what holds where it is left out; the row of the check says the same. */
export function failOnError(absent: boolean) {
  return z
    .boolean()
    .meta({ description: 'Whether an error or a time-out counts as a failed check.', absent })
    .optional();
}

/** Parameters that every check takes. */
export const everyCheck = { failOnError: failOnError(true) };

export function defineCheck<Parameters extends CommonParameters>(row: CheckRow<Parameters>): Check {
  const { id, does, example, parameters, sides = 'both' } = row;
  return {
    id,
    aliases: row.aliases ?? [],
    does,
    example,
    sides,
    parameters,
    compile(given, means) {
      const parsed = parameters.safeParse(given);
      if (!parsed.success) return wordsOf(parsed.error);
      return {
        id,
        sides,
        mutates: row.mutates?.(parsed.data) ?? false,
        timeoutMs: row.timeoutMs?.(parsed.data),
        failOnError: parsed.data.failOnError ?? row.failOnError ?? true,
        run: row.compile(parsed.data, means),
      };
    },
  };
}

function wordsOf(error: z.ZodError): string {
  return problemsOf(error, 'parameters')
    .map(({ path, message }) => `${path} ${message}`)
    .join('; ');
}

/** The finding of a check that can be turned round. */
export function found(holds: boolean, turned: boolean, data: CheckData): Finding {
  return { verdict: holds !== turned, data: turned ? { ...data, not: true } : data };
}
