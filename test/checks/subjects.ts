/** Requests and answers for checks to look at. */
import type { Finding } from '#gateway/checks/check.ts';
import { compileCheck } from '#gateway/checks/checks.ts';
import type { CheckMeans } from '#gateway/checks/means.ts';
import { applyRewrites } from '#gateway/checks/rewrite.ts';
import { createSubject, type Subject, type SubjectFacts } from '#gateway/checks/subject.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { testMeans } from './means.ts';

const FACTS = {
  endpointType: 'chatComplete',
  model: 'gpt-4o-mini',
  metadata: {},
  headers: {},
  stream: false,
} as const;

export function request(body: Json, facts: Partial<SubjectFacts> = {}): Subject {
  return createSubject({ ...FACTS, side: 'request', body, ...facts });
}

export function answer(body: Json, facts: Partial<SubjectFacts> = {}): Subject {
  return createSubject({ ...FACTS, side: 'response', body, ...facts });
}

/** A chat whose last message says this. */
export function asked(text: string, facts: Partial<SubjectFacts> = {}): Subject {
  return request({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] }, facts);
}

/** A chat's answer that says this. */
export function answered(text: string, facts: Partial<SubjectFacts> = {}): Subject {
  return answer({ choices: [{ index: 0, message: { role: 'assistant', content: text } }] }, facts);
}

/** The compiled check; throws what is wrong with the parameters. */
export function checkOf(id: string, parameters: unknown, means: CheckMeans = testMeans()) {
  const compiled = compileCheck(id, parameters, means);
  if (typeof compiled === 'string') throw new Error(compiled);
  return compiled;
}

/** What one check finds; throws what it throws. */
export async function find(
  id: string,
  parameters: unknown,
  subject: Subject,
  means: CheckMeans = testMeans(),
): Promise<Finding> {
  return checkOf(id, parameters, means).run(subject, new AbortController().signal);
}

export async function verdict(id: string, parameters: unknown, subject: Subject, means?: CheckMeans): Promise<boolean> {
  return (await find(id, parameters, subject, means)).verdict;
}

/** The body as a mutator leaves it. */
export async function rewritten(id: string, parameters: unknown, subject: Subject, means?: CheckMeans): Promise<Json> {
  const { rewrites = [] } = await find(id, parameters, subject, means);
  return applyRewrites(subject.body, rewrites);
}

/** What is wrong with the parameters; undefined: nothing. */
export function problemOf(id: string, parameters: unknown): string | undefined {
  const compiled = compileCheck(id, parameters, testMeans());
  return typeof compiled === 'string' ? compiled : undefined;
}
