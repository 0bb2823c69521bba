/** Answers of different servers made comparable: what each server makes up gets a name by the order in which it appears. */

type Fields = Readonly<Record<string, unknown>>;

const TIMES = ['creationTimestamp', 'deletionTimestamp', 'time'];
const MAX_TEXT = 120;
/** Longer ones are made up by a server. */
const MAX_OWN_UID = 10;
/** Of what other writers move. */
const NOW = '<now>';

export class Normalizer {
  readonly #namespace: string;
  readonly #uids = new Map<string, string>();
  readonly #versions = new Map<string, string>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** A line of text. */
  text(line: string): string {
    let out = line.replaceAll(this.#namespace, 'ns');
    for (const [uid, name] of this.#uids) out = out.replaceAll(uid, name);
    return out
      .replace(/continue=[\w-]{20,}/g, 'continue=<token>')
      .replace(/(resourceVersion(?:=|":"))(\d+)/g, (_, before, version) => before + this.#nameOf(version))
      .replace(
        /(ResourceVersion in (?:the precondition|record) )\((\d+)\)/g,
        (_, before, version) => `${before}(${this.#nameOf(version)})`,
      );
  }

  /** A document as one line of JSON, its keys in order. */
  document(document: Fields): string {
    const { kind, metadata } = document;
    if (kind === 'Status' && document['status'] === 'Failure') return this.#failure(document);
    const isList = Array.isArray(document['items']);
    const shown = isList ? { ...document, metadata: listMetadata(metadata as Fields) } : document;
    return JSON.stringify(this.#normal(shown, isList ? '' : 'object'));
  }

  #nameOf(version: string): string {
    return this.#versions.get(version) ?? (version.length < 2 ? version : NOW);
  }

  #failure({ reason, message, details = {}, metadata = {} }: Fields): string {
    const { causes, retryAfterSeconds, uid: _, ...about } = details as Fields;
    const named = (causes as { reason?: string; field?: string }[] | undefined)?.map(
      (cause) => `${cause.reason} ${cause.field}`,
    );
    const rest = {
      ...(Object.keys(about).length > 0 && { about }),
      ...(named && { causes: [...new Set(named)].sort() }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...((metadata as Fields)['continue'] !== undefined && { continue: '<token>' }),
    };
    const words = IS_WORDED.has(String(reason)) ? ` "${this.text(String(message).replaceAll('\n', ' '))}"` : '';
    return `${reason}${words} ${JSON.stringify(this.#normal(rest, ''))}`;
  }

  #normal(value: unknown, path: string): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#normal(item, path === 'items' ? 'object' : ''));
    if (typeof value === 'string')
      return this.text(value.length > MAX_TEXT ? `${value.slice(0, 20)}... ${value.length}` : value);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([, field]) => field !== undefined);
    const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, field]) => [name, this.#field(name, field, path)]));
  }

  #field(name: string, value: unknown, path: string): unknown {
    if (TIMES.includes(name) && typeof value === 'string') return '<time>';
    if (name === 'uid' && typeof value === 'string' && value.length > MAX_OWN_UID)
      return numbered(this.#uids, value, 'uid');
    if (name === 'resourceVersion' && typeof value === 'string' && path === 'metadata' && value !== NOW) {
      return numbered(this.#versions, value, 'v');
    }
    if (name === 'managedFields' && Array.isArray(value)) return value.map(managerText).sort();
    return this.#normal(value, name);
  }
}

/** Failures whose words say more than their fields. */
const IS_WORDED: ReadonlySet<string> = new Set(['AlreadyExists', 'Conflict', 'NotFound']);

function numbered(names: Map<string, string>, value: string, prefix: string): string {
  const known = names.get(value);
  if (known !== undefined) return known;
  const name = `${prefix}${names.size + 1}`;
  names.set(value, name);
  return name;
}

/** Other writers move the version of a list. */
function listMetadata({ resourceVersion, continue: next, ...rest }: Fields): Fields {
  return {
    ...rest,
    resourceVersion: resourceVersion === undefined ? 'none' : NOW,
    ...(next !== undefined && next !== '' && { continue: '<token>' }),
  };
}

function managerText(entry: Fields): string {
  const { manager, operation, subresource, apiVersion, fieldsV1 } = entry;
  const door = subresource === undefined ? '' : ` ${subresource}`;
  return `${manager} ${operation}${door} ${apiVersion}: ${JSON.stringify(sortedFields(fieldsV1))}`;
}

function sortedFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, field]) => [name, sortedFields(field)]));
}
