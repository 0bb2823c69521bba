/** What a request comes to, once it is over. */
import type { Usage } from '../providers/provider.ts';

export interface Bill {
  readonly usage: Usage;
  /** The provider never said: counted from what was sent and received, of an answer that was broken off. */
  readonly estimated: boolean;
  /** 1e-12 US dollars, whole; undefined: the model has no known price. */
  readonly cost: number | undefined;
  /** Which prices it was reckoned with; undefined where the cost is. */
  readonly priceVersion: string | undefined;
}
