/** What a watch asks for. */
import { badRequest, internal, invalid } from './failure.ts';
import { causeOf } from './resource-row.ts';

export interface WatchQuery {
  /** From which on it tells what happened; undefined: from now on. */
  readonly since: number | undefined;
  /** Whether it begins with what there is. */
  readonly hasInitialEvents: boolean;
  /** Whether it says when it has told what there was. */
  readonly marksInitialEnd: boolean;
  readonly wantsBookmarks: boolean;
  readonly seconds: number;
}

const DEFAULT_SECONDS = 2_700;

/** Throws Failure. */
export function watchQueryOf(query: URLSearchParams): WatchQuery {
  const asked = query.get('resourceVersion') || '0';
  if (!/^\d+$/.test(asked)) {
    throw internal(`resourceVersion: Invalid value: ${JSON.stringify(asked)}: invalid syntax`);
  }
  refuseMatch(query);
  const initial = query.get('sendInitialEvents');
  const hasInitialEvents = initial === 'true' || (initial === null && asked === '0');
  return {
    since: asked === '0' ? undefined : Number(asked),
    hasInitialEvents,
    marksInitialEnd: initial === 'true',
    wantsBookmarks: query.get('allowWatchBookmarks') === 'true',
    seconds: secondsOf(query.get('timeoutSeconds') ?? '0'),
  };
}

function refuseMatch(query: URLSearchParams): void {
  const match = query.get('resourceVersionMatch');
  const isRight = query.has('sendInitialEvents') ? match === 'NotOlderThan' : match === null;
  if (isRight) return;
  const why = 'Forbidden: resourceVersionMatch is NotOlderThan where sendInitialEvents is set, and forbidden elsewhere';
  const cause = causeOf('resourceVersionMatch', why, 'FieldValueForbidden');
  throw invalid({ kind: 'ListOptions', group: 'meta.k8s.io', plural: '' }, '', [cause]);
}

function secondsOf(text: string): number {
  if (!/^\d+$/.test(text))
    throw badRequest(`invalid timeoutSeconds: ${JSON.stringify(text)}: it must be a whole number`);
  return Number(text) || DEFAULT_SECONDS;
}
