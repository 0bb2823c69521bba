/** GET of an object, and of a collection, page by page as it was at one moment. */
import { type ApiObject, keyOf } from '#crds/api/api-object.ts';
import { badRequest, expired, invalid, notFound, tooLarge } from './failure.ts';
import { defined, type Fields, fieldsOf } from './fields.ts';
import type { Presentation } from './presentation.ts';
import { causeOf } from './resource-row.ts';
import { fieldSelector, labelSelector, type Selects } from './selectors.ts';
import type { Store } from './store.ts';
import { type Target, targetKey } from './target.ts';

/** A server may lag behind what is stored. */
export interface ReadView {
  readonly store: Store;
  /** Up to which it knows what happened. */
  readonly version: number;
}

/** What a request selects of a collection. Throws Failure 400. */
export function selectionOf({ namespace, query }: Target): Selects {
  const labels = labelSelector(query.get('labelSelector') ?? '');
  const fields = fieldSelector(query.get('fieldSelector') ?? '');
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) && labels(object) && fields(object);
}

export function readOne({ store, version }: ReadView, target: Target, presentation: Presentation): Fields {
  const key = targetKey(target);
  const found =
    version === store.version
      ? store.get(target.row, key)
      : store.allAt(target.row, version).find((object) => keyOf(object) === key);
  if (found === undefined) throw notFound(target.row, target.name ?? '');
  return presentation.object(found);
}

interface Page {
  readonly version: number;
  /** Key that it begins after. */
  readonly after: string;
  readonly limit: number;
}

/** Throws Failure; 410 where what was asked for is forgotten. */
export function readList(view: ReadView, target: Target, presentation: Presentation): Fields {
  const selects = selectionOf(target);
  const page = pageOf(view, target);
  const rest = view.store
    .allAt(target.row, page.version)
    .filter((object) => keyOf(object) > page.after && selects(object));
  const items = page.limit > 0 ? rest.slice(0, page.limit) : rest;
  const last = items.at(-1);
  const isEnd = last === undefined || items.length === rest.length;
  const isSelected = target.query.get('labelSelector') || target.query.get('fieldSelector');
  const metadata = {
    resourceVersion: String(page.version),
    continue: isEnd ? undefined : tokenOf(page.version, keyOf(last as ApiObject)),
    remainingItemCount: isEnd || isSelected ? undefined : rest.length - items.length,
  };
  return presentation.list(target.row, defined(metadata), items);
}

function pageOf(view: ReadView, { query, ...target }: Target): Page {
  const [next, asked] = [query.get('continue') ?? '', query.get('resourceVersion') ?? ''];
  const limit = wholeNumber(query.get('limit') ?? '0', 'limit');
  const match = query.get('resourceVersionMatch');
  if (match !== null && asked === '') {
    const why = 'Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided';
    const cause = causeOf('resourceVersionMatch', why, 'FieldValueForbidden');
    throw invalid({ kind: 'ListOptions', group: 'meta.k8s.io', plural: '' }, '', [cause]);
  }
  if (next !== '' && asked !== '' && asked !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  if (next !== '') return { ...continued(view, next), limit };
  const version = wholeNumber(asked === '' ? '0' : asked, 'resourceVersion');
  if (version > view.version) throw tooLarge(asked, view.version);
  if (match === 'Exact') return { version: known(view, version), after: '', limit };
  // Any version will do: it comes whole, from what the server has at hand.
  const isAny = asked === '0' && target.name === undefined;
  return { version: view.version, after: '', limit: isAny ? 0 : limit };
}

function continued(view: ReadView, token: string): Pick<Page, 'version' | 'after'> {
  const { rv, start } = fieldsOf(parsed(token));
  if (typeof rv !== 'number' || typeof start !== 'string') {
    throw badRequest('invalid continue token: continue key is not valid');
  }
  // Of a list that began anew where another had expired.
  if (rv < 0) return { version: view.version, after: start };
  if (rv < view.store.compactedVersion) {
    const why =
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.';
    throw expired(why, tokenOf(-1, start));
  }
  return { version: rv, after: start };
}

function known(view: ReadView, version: number): number {
  if (version >= view.store.compactedVersion) return version;
  throw expired('The resourceVersion for the provided list is too old.');
}

function tokenOf(version: number, key: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: key })).toString('base64url');
}

function parsed(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** Throws Failure 400. */
function wholeNumber(text: string, name: string): number {
  if (/^-?\d+$/.test(text)) return Number(text);
  throw badRequest(`invalid ${name}: Invalid value: ${JSON.stringify(text)}: it must be a whole number`);
}
