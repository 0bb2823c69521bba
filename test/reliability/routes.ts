/** Every route that reads a body, with a body that is good there. */
export const ROUTES: readonly (readonly [path: string, body: Readonly<Record<string, unknown>>])[] = [
  ['/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/completions', { model: 'm', prompt: 'Hi' }],
  ['/v1/embeddings', { model: 'm', input: 'Hi' }],
  ['/v1/messages', { model: 'm', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }],
];

/** Our code of an error, whichever envelope it is in: Anthropic's has a type and a message alone. */
export async function codeOf(response: Response): Promise<{ status: number; code: string | undefined; text: string }> {
  const text = await response.text();
  const { error } = JSON.parse(text) as { error?: { code?: string } };
  return { status: response.status, code: error?.code, text };
}
