/** Worlds from YAML text, without files. */
import { join } from 'node:path';
import { Programmed } from '#operator/apply/programmed.ts';
import { type Compiled, compile } from '#operator/compile/compile.ts';
import type { LastGood } from '#operator/compile/elect.ts';
import { type ConditionType, conditionOf, type ObjectStatus } from '#operator/compile/status.ts';
import type { LoopTools } from '#operator/loop.ts';
import { parseFile } from '#operator/source/directory/parse-file.ts';
import { readDocument } from '#operator/source/directory/read-document.ts';
import type { Manifest, Problem, SecretObject, World } from '#operator/world.ts';

export const REPOSITORY = join(import.meta.dirname, '../..');
export const NODE = join(REPOSITORY, 'node_modules/node/bin/node');

/** A catalogue of its own, so that a new provider changes no test here. */
export const TOOLS: LoopTools = {
  catalog: {
    providers: new Map([
      ['openai', { needsCredential: true, hasBaseUrl: true }],
      ['anthropic', { needsCredential: true, hasBaseUrl: true }],
      ['vllm', { needsCredential: false, hasBaseUrl: false }],
      ['simulator', { needsCredential: false, hasBaseUrl: true }],
    ]),
  },
  newKey: () => 'mgw_key-of-the-test',
};

export const ENVIRONMENT: Readonly<Record<string, string>> = { OPENAI_KEY: 'sk-from-the-environment' };

/** File name -> YAML text; files in order of their names. */
export function worldOf(files: Readonly<Record<string, string>>): World {
  const manifests: Manifest[] = [];
  const secrets: SecretObject[] = [];
  const problems: Problem[] = [];
  for (const file of Object.keys(files).sort()) {
    const parsed = parseFile(file, files[file] ?? '');
    if (!('documents' in parsed)) throw new Error(`${file}:${parsed.line}: ${parsed.message}`);
    for (const document of parsed.documents) {
      const read = readDocument(document, { file, environment: (name) => ENVIRONMENT[name], generated: false });
      if ('manifest' in read) manifests.push(read.manifest);
      else if ('secret' in read) secrets.push(read.secret);
      else problems.push(read.problem);
    }
  }
  return { manifests, secrets, problems, settings: { organisationNamespace: 'model-gateway', requestHosts: [] } };
}

export function compileText(text: string, previous: LastGood = new Map()): Compiled {
  return compile(worldOf({ 'a.yaml': text }), previous, TOOLS);
}

/** With what is said once the only replica serves it. */
export function servedByOne(compiled: Compiled): readonly ObjectStatus[] {
  const programmed = new Programmed();
  programmed.published({ generation: 1, hash: 'of-the-test' }, compiled.snapshot);
  const replica = { name: 'gateway-0', address: '10.0.0.1', reachable: true, generation: 1, hash: 'of-the-test' };
  return programmed.of(compiled, [replica]);
}

/** `Accepted=False InvalidSpec` of the object with this kind and name. */
export function say(statuses: readonly ObjectStatus[], object: string, type: ConditionType): string {
  const status = statuses.find((candidate) => `${candidate.kind} ${candidate.namespace}/${candidate.name}` === object);
  const condition = status && conditionOf(status, type);
  return condition === undefined ? 'absent' : `${condition.status} ${condition.reason}`;
}

export function messageOf(statuses: readonly ObjectStatus[], object: string, type: ConditionType): string {
  const status = statuses.find((candidate) => `${candidate.kind} ${candidate.namespace}/${candidate.name}` === object);
  return (status && conditionOf(status, type)?.message) ?? '';
}

/** Manifests as text, for tests that build many. */
export function manifest(
  kind: string,
  namespace: string,
  name: string,
  spec: unknown,
  annotations?: Record<string, string>,
): string {
  const apiVersion = kind === 'Secret' ? 'v1' : 'modelgateway.dev/v1alpha1';
  const metadata = { name, namespace, ...(annotations === undefined ? {} : { annotations }) };
  const body = kind === 'Secret' ? { stringData: spec } : { spec };
  return `${JSON.stringify({ apiVersion, kind, metadata, ...body })}\n`;
}

export function documents(...texts: readonly string[]): string {
  return texts.join('---\n');
}
