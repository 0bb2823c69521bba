/** Whose answers may be seen. Every key is made of a scope, and a scope of a workspace: tenants cannot meet. */

export interface ScopeParts {
  /** Namespace of the caller's workspace. */
  readonly workspace: string;
  /** What tells this workspace from one of the same name before it, and what was kept before a purge from what comes after. */
  readonly epoch: string;
  /** `x-gateway-cache-namespace`; undefined where the caller sent none: then metadata divides. */
  readonly cacheNamespace: string | undefined;
  /** The request's merged metadata; of no account where a cache namespace is given. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Made by `CacheScope.of` alone. */
export class CacheScope {
  readonly workspace: string;
  /** Tells this scope from all others; printable. */
  readonly identity: string;
  /** A private field, so that no other object is taken for a scope. */
  readonly #made = true;

  private constructor(workspace: string, identity: string) {
    this.workspace = workspace;
    this.identity = identity;
  }

  /** Throws a RangeError for a caller without a workspace: an empty tenant would be everybody's. */
  static of({ workspace, epoch, cacheNamespace, metadata }: ScopeParts): CacheScope {
    if (workspace === '') throw new RangeError('workspace must be the name of a namespace: it is empty.');
    const within = cacheNamespace === undefined ? ['metadata', ...pairsOf(metadata)] : ['namespace', cacheNamespace];
    return new CacheScope(workspace, JSON.stringify([workspace, epoch, ...within]));
  }

  /** Whether a value is one that `of` has made. */
  static isScope(value: unknown): value is CacheScope {
    return typeof value === 'object' && value !== null && #made in value;
  }
}

function pairsOf(metadata: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(metadata).sort();
  return names.flatMap((name) => [name, metadata[name] ?? '']);
}
