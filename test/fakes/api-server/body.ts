/** What a request says -> an object that may be stored as the target. Throws Failure 400. */
import { parse } from 'yaml';
import type { ApiObject } from '#crds/api/api-object.ts';
import { badRequest } from './failure.ts';
import { type Fields, fieldsOf, isFields } from './fields.ts';
import type { Target } from './target.ts';

export function jsonOf(text: string | undefined, what: string): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch (cause) {
    throw badRequest(`${what}: ${(cause as Error).message}`);
  }
}

/** Of POST and PUT. apiVersion and kind may be left out of built-in kinds. */
export function writtenObject(text: string | undefined, { row, ...target }: Target): ApiObject {
  const what = `the object provided is unrecognized (must be of type ${row.kind})`;
  const given = fieldsOf(jsonOf(text, what));
  if (!row.isTyped && !given['kind']) throw badRequest(`${what}: Object 'Kind' is missing`);
  const { apiVersion = row.apiVersion, kind = row.kind } = given;
  if (kind !== row.kind || apiVersion !== row.apiVersion) {
    throw badRequest(`${kind} in version "${apiVersion}" cannot be handled as a ${row.kind}`);
  }
  const metadata = fieldsOf(given['metadata']);
  if (target.name !== undefined && !metadata['name']) {
    throw badRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`);
  }
  return addressed({ ...given, apiVersion, kind, metadata }, { row, ...target });
}

/** Of an apply: YAML or JSON. */
export function appliedObject(text: string | undefined, target: Target): ApiObject {
  const { apiVersion, kind } = target.row;
  const config = readYaml(text);
  if (config['apiVersion'] !== apiVersion || config['kind'] !== kind) {
    throw badRequest(`invalid object type: ${config['apiVersion'] ?? ''}, Kind=${config['kind'] ?? ''}`);
  }
  const metadata = fieldsOf(config['metadata']);
  if (metadata['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
  return addressed({ ...config, apiVersion, kind, metadata }, target);
}

function readYaml(text: string | undefined): Fields {
  try {
    return fieldsOf(parse(text ?? ''));
  } catch (cause) {
    throw badRequest(`error decoding YAML: ${(cause as Error).message}`);
  }
}

/** Of a merge patch. */
export function mergePatch(text: string | undefined): Fields {
  const patch = jsonOf(text, 'error decoding patch');
  if (!isFields(patch)) throw badRequest('error decoding patch: it must be an object');
  return patch;
}

/** With the name and the namespace of the path, which it may not contradict. */
export function addressed(object: Fields & { readonly metadata: Fields }, { namespace, name }: Target): ApiObject {
  const { metadata } = object;
  if (name !== undefined && metadata['name'] && metadata['name'] !== name) {
    throw badRequest(`the name of the object (${metadata['name']}) does not match the name on the URL (${name})`);
  }
  if (metadata['namespace'] && metadata['namespace'] !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const place = namespace === undefined ? {} : { namespace };
  return { ...object, metadata: { ...metadata, ...place, name: name ?? metadata['name'] } } as unknown as ApiObject;
}
