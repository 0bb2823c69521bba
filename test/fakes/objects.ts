/** Manifests as text, one document each. JSON is YAML. */
export interface Placing {
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One of our own kinds. */
export function object(kind: string, name: string, spec: object, placing: Placing = {}): string {
  return document({ apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { name, ...placing }, spec });
}

export function config(name: string, spec: object, placing?: Placing): string {
  return object('GatewayConfig', name, spec, placing);
}

/** A GatewayConfig that applies where none is named. */
export function defaultConfig(name: string, spec: object, namespace = 'default'): string {
  return config(name, spec, { namespace, annotations: { 'modelgateway.dev/default': 'true' } });
}

export function secret(name: string, values: Readonly<Record<string, string>>, namespace = 'default'): string {
  return document({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData: values });
}

/** An ApiKey whose plaintext is `key`, with its Secret. */
export function apiKey(name: string, key: string, spec: object = {}, namespace = 'default'): string {
  const secretName = `${name}-api-key`;
  const whole = { type: 'workspace-service', secret_name: secretName, ...spec };
  return secret(secretName, { api_key: key }, namespace) + object('ApiKey', name, whole, { namespace });
}

function document(value: object): string {
  return `---\n${JSON.stringify(value)}\n`;
}
