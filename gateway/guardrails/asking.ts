/** On whose behalf a check asks others: what it costs is theirs, and the trace is. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestContext } from '../request-context.ts';

export const asking = new AsyncLocalStorage<RequestContext>();
