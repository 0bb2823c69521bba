import { createContext, Script } from 'node:vm';
import { CheckError } from '../check.ts';

const scope: { work: (() => unknown) | undefined } = createContext({ work: undefined }) as { work: undefined };
const call = new Script('work()');

/** The result of work that nobody can foresee the end of. Throws CheckError after `limitMs`; costs a thread for a moment. */
export function withinTime<T>(work: () => T, limitMs: number): T {
  scope.work = work;
  try {
    return call.runInContext(scope, { timeout: limitMs }) as T;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new CheckError(`It took longer than ${limitMs} ms.`);
  } finally {
    scope.work = undefined;
  }
}
