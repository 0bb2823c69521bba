import type { z } from '../config/words.ts';

export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  /** 0: always shown; 1: only by `-o wide`. */
  readonly priority?: number;
}

/** A rule that the API server checks. Evaluated with `self` = the spec. */
export interface CelRule {
  readonly rule: string;
  /** The operator's words for the same mistake. */
  readonly message: string;
  /** CEL that says it with what it found; `message` stands where it cannot. */
  readonly messageExpression?: string;
  /** What the message is about, from `self`, e.g. `.strategy.default`. Default: the whole. A list's items have no path. */
  readonly fieldPath?: string;
  /** A recursive spec: at how many levels the rule stands, the root included. Default: every unrolled level. */
  readonly levels?: number;
}

/** A kind of manifest: all that the CRD, the reference and the operator know of it. */
export interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly group: string;
  readonly version: string;
  readonly description: string;
  /** Structure, bounds and every rule: what the operator checks a spec with. */
  readonly specSchema: z.ZodType;
  /** Structure and bounds: what the CRD is made of. */
  readonly specShape: z.ZodType;
  /** Columns between Name and the conditions. */
  readonly printerColumns: readonly PrinterColumn[];
  readonly celRules: readonly CelRule[];
  /** What a status says besides `observedGeneration` and `conditions`: an object of optional fields, each described and bounded. */
  readonly statusShape?: z.ZodType;
  /** Field whose items have the shape of the spec again; unrolled in the CRD. */
  readonly recursiveField?: string;
}
