/** Keep it. */
import { rememberAnswer } from '../cache/remember-answer.ts';
import { billOf } from '../money/bill.ts';
import type { RequestContext } from '../request-context.ts';

export function remember(context: RequestContext): void {
  const turn = context.cacheTurn;
  if (turn === undefined) return;
  context.exchange.bill = billOf(context);
  rememberAnswer(context, turn);
}
