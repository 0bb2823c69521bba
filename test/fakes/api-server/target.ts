/** A request's path -> what it is about. */
import { noSuchGroup, noSuchResource } from './failure.ts';
import type { ResourceRow } from './resource-row.ts';
import type { ResourceTable } from './resources.ts';

export interface Target {
  readonly row: ResourceRow;
  /** undefined: all namespaces, or a kind without. */
  readonly namespace: string | undefined;
  /** undefined: the collection. */
  readonly name: string | undefined;
  readonly subresource: 'status' | undefined;
  readonly query: URLSearchParams;
}

const PREFIX = /^\/(?:api\/(v1)|apis\/([^/]+\/[^/]+))\/(.*)$/;

/** Throws Failure 404. */
export function targetOf(path: string, table: ResourceTable): Target {
  const { pathname, searchParams: query } = new URL(path, 'http://server');
  const [, core, grouped, rest = ''] = PREFIX.exec(pathname) ?? [];
  const parts = rest.split('/').map(decodeURIComponent);
  // `namespaces/<name>` alone is a Namespace; with more behind it, where that is.
  const [first, second, ...others] = parts;
  const isScoped = first === 'namespaces' && others.length > 0 && others[0] !== 'status';
  const [plural = '', name, subresource, ...more] = isScoped ? others : parts;
  const version = core ?? grouped ?? '';
  if (!table.rows.some(({ apiVersion }) => apiVersion === version)) throw noSuchGroup();
  const row = table.find(version, plural);
  if (row === undefined || more.length > 0 || (isScoped && !row.isNamespaced)) throw noSuchResource();
  return { row, namespace: isScoped ? second : undefined, name, subresource: door(row, subresource), query };
}

function door(row: ResourceRow, subresource: string | undefined): 'status' | undefined {
  if (subresource === undefined) return undefined;
  if (subresource !== 'status' || !row.hasStatus) throw noSuchResource();
  return subresource;
}

/** `namespace/name`, or the name of what has no namespace. */
export function targetKey({ namespace, name = '' }: Target): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
