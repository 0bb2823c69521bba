/** Objects of a tenant, each of which can be told by what gateways answer. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly [content: string]: unknown;
}

function object(
  kind: string,
  name: string,
  spec: object,
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { name, annotations }, spec };
}

/** The default config `chat` of its namespace: whatever is asked, the answer is `word`. */
export function chat(word: string): Manifest {
  return object('GatewayConfig', 'chat', answering(word), { 'modelgateway.dev/default': 'true' });
}

/** A config that is used where it is named. */
export function config(name: string, word: string): Manifest {
  return object('GatewayConfig', name, answering(word));
}

/** The default config, as the API server takes it and the operator does not. */
export function refusedChat(): Manifest {
  return { ...chat('refused'), spec: { provider: 'nobody', api_key: 'any' } };
}

/** A key that the operator makes, and writes to the Secret `<name>-api-key`. */
export function apiKey(name: string, spec: object = {}): Manifest {
  return object('ApiKey', name, { type: 'workspace-service', ...spec });
}

/** A budget of tokens of every key, with an alert. */
export function tokenBudget(name: string, spec: object = {}): Manifest {
  const groups = { conditions: [{ key: 'api_key', value: '*' }], group_by: [{ key: 'api_key' }] };
  return object('UsageLimitPolicy', name, { type: 'tokens', credit_limit: 1000, ...groups, ...spec });
}

/** An Integration `stored`, whose credential is in the Secret `credential`. */
export function integration(): Manifest {
  const mapping = { target_field: 'api_key', secret_name: 'credential', secret_key: 'value' };
  return object('Integration', 'stored', { provider: 'openai', secret_mappings: [mapping] });
}

export function credential(): Manifest {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'credential' }, stringData: { value: 'any' } };
}

/** The simulator answers with the last message. */
function answering(word: string): object {
  return { provider: 'simulator', override_params: { messages: [{ role: 'user', content: word }] } };
}
