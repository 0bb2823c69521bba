/** Which records travel in which kind of shard, and what tells two records apart. */
import type { Snapshot } from './contract.ts';

/** Routing and refusals travel in ConfigMaps; credentials and key digests in Secrets of their own. */
export type ShardKind = 'routing' | 'credentials' | 'keys';
export type RecordField = Exclude<keyof Snapshot, 'settings'>;

export interface ShardRow {
  readonly kind: ShardKind;
  /** Names are `<prefix>-<n>`. */
  readonly prefix: string;
  readonly fields: readonly RecordField[];
}

export const SHARD_ROWS: readonly ShardRow[] = [
  {
    kind: 'routing',
    prefix: 'snapshot',
    fields: [
      'configs',
      'integrations',
      'rate_limits',
      'usage_limits',
      'workspaces',
      'guardrails',
      'prompts',
      'prompt_versions',
      'refused',
    ],
  },
  { kind: 'credentials', prefix: 'credentials', fields: ['credentials'] },
  { kind: 'keys', prefix: 'keys', fields: ['keys'] },
];

interface Identified {
  readonly namespace: string;
  readonly name: string;
  readonly kind?: string;
  readonly path?: string;
  readonly slot?: string | undefined;
}

/** Stable over changes of a record's content; decides its shard and its place there. */
export function identityOf(field: RecordField, record: Identified): string {
  return [field, record.namespace, record.name, record.kind ?? '', record.path ?? record.slot ?? ''].join('\n');
}

/** FNV-1a with a final mix, so that the low bits are good too. Unsigned 32 bits. */
export function hashOfIdentity(identity: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < identity.length; index++) {
    hash = Math.imul(hash ^ identity.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** JSON with sorted keys and without undefined: equal values have equal text. `value` is plain JSON, bounded in depth. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const source = value as Record<string, unknown>;
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(source).sort()) copy[key] = sorted(source[key]);
  return copy;
}
