/** What shall be told of an object -> an Event of `events.k8s.io/v1`. */
import { randomUUID } from 'node:crypto';
import { type ApiObject, EVENTS } from './api-object.ts';
import { microTime } from './micro-time.ts';

export interface Occurrence {
  /** What it is about; its uid and resourceVersion go along. */
  readonly regarding: ApiObject;
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase. */
  readonly reason: string;
  /** What was done or tried, in CamelCase. */
  readonly action: string;
  /** For people; cut at 1 kB. */
  readonly note: string;
  /** What happens once in all: two Events of one object with the same id are one. Letters and digits. Default: random. */
  readonly id?: string;
}

export interface Reporter {
  /** A qualified name, e.g. `modelgateway.dev/operator`. */
  readonly reportingController: string;
  /** Unique among the controller's instances. */
  readonly reportingInstance: string;
}

/** The server's own bounds. */
const MAX_NOTE_BYTES = 1_024;
const MAX_WORD_LENGTH = 128;
const MAX_NAME_LENGTH = 253;
const ELLIPSIS = '...';

/** Equal for two that are the same but for their time. */
export function occurrenceKey({ regarding, type, reason, action, note, id }: Occurrence): string {
  const { uid, namespace, name } = regarding.metadata;
  return JSON.stringify([regarding.kind, uid, namespace, name, type, reason, action, id ?? cutNote(note)]);
}

/** Its name is unique. `at`: when it happened. */
export function eventObject(
  { regarding, type, reason, action, note, id }: Occurrence,
  by: Reporter,
  at: Date,
): ApiObject {
  const { namespace, name, uid, resourceVersion } = regarding.metadata;
  const { apiVersion, kind } = regarding;
  return {
    apiVersion: EVENTS.apiVersion,
    kind: EVENTS.kind,
    metadata: { name: eventName(name, id), namespace: namespace ?? 'default' },
    eventTime: microTime(at),
    reportingController: by.reportingController,
    reportingInstance: by.reportingInstance.slice(0, MAX_WORD_LENGTH),
    type,
    reason: reason.slice(0, MAX_WORD_LENGTH),
    action: action.slice(0, MAX_WORD_LENGTH),
    note: cutNote(note),
    regarding: { apiVersion, kind, namespace, name, uid, resourceVersion },
  };
}

function eventName(about: string, id: string = randomUUID()): string {
  const suffix = `.${id.replaceAll('-', '').slice(0, 16)}`;
  // A name may not have a dot, or a dash, before a dot.
  return about.slice(0, MAX_NAME_LENGTH - suffix.length).replace(/[-.]+$/, '') + suffix;
}

/** At most MAX_NOTE_BYTES, without half a character at its end. */
function cutNote(note: string): string {
  const bytes = Buffer.from(note);
  if (bytes.length <= MAX_NOTE_BYTES) return note;
  const { written } = new TextEncoder().encodeInto(note, new Uint8Array(MAX_NOTE_BYTES - ELLIPSIS.length));
  return bytes.toString('utf8', 0, written) + ELLIPSIS;
}
