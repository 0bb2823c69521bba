/**
 * The samplers of `OTEL_TRACES_SAMPLER`, decided when a request comes in: spans are built only after it has ended, too
 * late for the SDK's own. The ratio is the SDK's arithmetic, so that services of one trace agree.
 */
import type { Sample } from './trace-context.ts';

const UINT32_MAX = 0xffffffff;
const HEX_PER_WORD = 8;

/** The four 32-bit words of a trace id, xor-ed: 0 to 2^32 - 1. */
function foldTraceId(traceId: string): number {
  let folded = 0;
  for (let at = 0; at < traceId.length; at += HEX_PER_WORD) {
    folded ^= Number.parseInt(traceId.slice(at, at + HEX_PER_WORD), 16);
  }
  return folded >>> 0;
}

const always: Sample = () => true;
const never: Sample = () => false;

function byRatio(arg: string | undefined): Sample {
  const ratio = Number(arg?.trim() || 1);
  if (!(ratio >= 0 && ratio < 1)) return always;
  const bound = Math.floor(ratio * UINT32_MAX);
  return (traceId) => foldTraceId(traceId) < bound;
}

function followParent(root: Sample): Sample {
  return (traceId, parentSampled) => parentSampled ?? root(traceId, parentSampled);
}

const SAMPLERS: Readonly<Record<string, (arg: string | undefined) => Sample>> = {
  always_on: () => always,
  always_off: () => never,
  traceidratio: byRatio,
  parentbased_always_on: () => followParent(always),
  parentbased_always_off: () => followParent(never),
  parentbased_traceidratio: (arg) => followParent(byRatio(arg)),
};

/**
 * The sampler called `name`, by default `parentbased_always_on`. `arg` is the ratio of the ratio samplers, 0 to 1; one that is
 * no such number counts as 1, as in the SDK. Throws a RangeError for an unknown name.
 */
export function samplerOf(name = 'parentbased_always_on', arg?: string): Sample {
  const make = Object.hasOwn(SAMPLERS, name) ? SAMPLERS[name] : undefined;
  if (make === undefined) {
    throw new RangeError(`OTEL_TRACES_SAMPLER "${name}" is unknown; use one of ${Object.keys(SAMPLERS).join(', ')}`);
  }
  return make(arg);
}
