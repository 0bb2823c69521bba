/** An Integration -> its record, its credential from Secrets, and what is missing. */
import type { CredentialRecord, IntegrationRecord } from '#crds/snapshot/contract.ts';
import type { IntegrationObject } from './check.ts';
import { type Lookup, secretValue } from './lookup.ts';
import type { Catalog } from './providers.ts';
import type { Verdict } from './status.ts';

export interface CompiledIntegration {
  readonly record: IntegrationRecord;
  /** undefined: none of its values is there. */
  readonly credential: CredentialRecord | undefined;
  readonly unresolved: readonly Verdict[];
}

export function compileIntegration(object: IntegrationObject, lookup: Lookup, catalog: Catalog): CompiledIntegration {
  const { namespace, name } = object.manifest;
  const { fields, unresolved } = readMappings(object, lookup);
  const lacking = lackingFields(object, catalog);
  return {
    record: recordOf(object, [...object.spec.secret_mappings.map((mapping) => mapping.target_field), ...lacking]),
    credential:
      Object.keys(fields).length === 0 ? undefined : { kind: 'Integration', namespace, name, path: '', fields },
    unresolved: [...unresolved, ...lacking.map((field) => credentialMissing(object.spec.provider, field))],
  };
}

function recordOf({ manifest, sharedWith, spec }: IntegrationObject, credentialFields: string[]): IntegrationRecord {
  return {
    namespace: manifest.namespace,
    name: manifest.name,
    shared_with: sharedWith,
    provider: spec.provider,
    configurations: spec.configurations,
    credential_fields: credentialFields,
    allow_all_models: spec.allow_all_models,
    models: spec.models.map(({ slug, enabled, configurations, pricing_config }) => ({
      slug,
      enabled,
      ...(configurations?.custom_host === undefined ? {} : { custom_host: configurations.custom_host }),
      ...(pricing_config === undefined ? {} : { pricing_config }),
    })),
    ...(spec.pricing_adjustments === undefined ? {} : { pricing_adjustments: spec.pricing_adjustments }),
    ...(spec.concurrency === undefined ? {} : { concurrency: spec.concurrency }),
  };
}

function readMappings(
  { manifest, spec }: IntegrationObject,
  lookup: Lookup,
): { fields: Record<string, unknown>; unresolved: Verdict[] } {
  const fields: Record<string, unknown> = {};
  const unresolved: Verdict[] = [];
  for (const [index, mapping] of spec.secret_mappings.entries()) {
    const path = `spec.secret_mappings[${index}]`;
    const found = secretValue(lookup, manifest.namespace, mapping.secret_name, mapping.secret_key, path);
    const read = 'missing' in found ? found : formatted(found.value, mapping.value_format, path);
    if ('missing' in read) unresolved.push(read.missing);
    else fields[mapping.target_field] = read.value;
  }
  return { fields, unresolved };
}

function formatted(text: string, format: 'string' | 'json', path: string): { value: unknown } | { missing: Verdict } {
  const refuse = (message: string) => ({
    missing: { reason: 'SecretRefused', message: `${path}: ${message}` } as const,
  });
  if (format === 'string') {
    return /^[\x20-\x7e]+$/.test(text)
      ? { value: text }
      : refuse('the value in the Secret must be one line of printable ASCII');
  }
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { value } : refuse('the value in the Secret must be a JSON object');
  } catch {
    return refuse('the value in the Secret must be JSON, as value_format says');
  }
}

/** A provider that needs a credential, at its own address, with none mapped: calls would go out without. */
function lackingFields({ spec }: IntegrationObject, catalog: Catalog): string[] {
  const needs = catalog.providers.get(spec.provider)?.needsCredential === true;
  return needs && spec.secret_mappings.length === 0 && spec.configurations.custom_host === undefined ? ['api_key'] : [];
}

function credentialMissing(provider: string, field: string): Verdict {
  const message = `spec.secret_mappings: ${provider} needs a credential: map ${field} from a Secret, or set configurations.custom_host`;
  return { reason: 'CredentialMissing', message };
}
