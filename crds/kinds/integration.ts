import { addressingFields, CREDENTIAL_FIELDS } from '../config/addressing.ts';
import { httpUrl, pattern, text } from '../config/values.ts';
import { unknownKey, z } from '../config/words.ts';
import { concurrency } from '../limits/concurrency.ts';
import { pricingAdjustments, pricingConfig } from '../limits/pricing.ts';
import { rateLimits } from '../limits/rate-limit.ts';
import { usageLimits } from '../limits/usage-limit.ts';
import { usageStatusFields } from '../limits/usage-status.ts';
import { API_GROUP, API_VERSION, namespaceName, objectName } from '../object.ts';
import type { Kind } from './kind.ts';

const MAX_MODELS = 1000;
const MAX_WORKSPACES = 256;
const JSON_FIELD = 'cloud2_service_account_json';

const secretMapping = z.strictObject({
  target_field: z.enum(CREDENTIAL_FIELDS).describe('Credential field of the config object that the value fills.'),
  secret_name: objectName.describe('Secret of the same namespace.'),
  secret_key: pattern(
    253,
    /^[-._a-zA-Z0-9]+$/,
    'a key of a Secret: letters, digits, "-", "_" and "."',
    'Key in the Secret.',
  ),
  value_format: z.enum(['string', 'json']).describe('How the value is read.').default('string'),
});

/** A credential here would be readable by everybody who reads the object. */
function namesCredential(issue: { code?: string | undefined; keys?: unknown }): string | undefined {
  if (issue.code !== 'unrecognized_keys' || !Array.isArray(issue.keys)) return undefined;
  return issue.keys
    .map((key: string) =>
      (CREDENTIAL_FIELDS as readonly string[]).includes(key)
        ? `"${key}" is a credential: map it from a Secret in secret_mappings`
        : unknownKey(key, Object.keys(addressingFields)),
    )
    .join('; ');
}

const model = z.strictObject({
  slug: text(253, 'Name of the model, as the provider knows it.'),
  enabled: z.boolean().describe('false: nobody may use it.').default(true),
  configurations: z
    .strictObject({ custom_host: httpUrl('Base URL for this model alone.').optional() })
    .describe('What differs for this model.')
    .optional(),
  pricing_config: pricingConfig.optional(),
});

const integrationShape = z.strictObject({
  provider: pattern(253, /^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'the name of a provider', 'Name of a provider.'),
  description: text(1024, 'What it is for.').optional(),
  secret_mappings: z.array(secretMapping).max(16).describe('Credentials, from Secrets.').default([]),
  configurations: z
    .strictObject(addressingFields, { error: namesCredential })
    .describe('Fields of the config object that are no secret.')
    .default({}),
  allow_all_models: z.boolean().describe('false: only the models that are listed and enabled.').default(true),
  models: z.array(model).max(MAX_MODELS).describe('What is known of single models.').default([]),
  pricing_adjustments: pricingAdjustments.optional(),
  rate_limits: rateLimits.optional(),
  usage_limits: usageLimits.optional(),
  concurrency: concurrency.optional(),
  allow_all_workspaces: z
    .boolean()
    .describe('Every workspace may use it. Only in the organisation namespace.')
    .default(false),
  allowed_workspaces: z
    .array(namespaceName)
    .max(MAX_WORKSPACES)
    .describe('Workspaces that may use it besides its own. Only in the organisation namespace.')
    .default([]),
});

type Spec = z.infer<typeof integrationShape>;
type Rule = (spec: Spec) => { path: (string | number)[]; message: string }[];

const onceEach = (field: string) => `name each ${field} once`;
/** What the API server and the operator say of a wrong value_format. */
const FORMAT_MESSAGES = {
  json: `must be "json" for ${JSON_FIELD}`,
  string: `must be "string" for every field but ${JSON_FIELD}`,
} as const;

function repeated(values: readonly string[], path: string, field: string): ReturnType<Rule> {
  return values.flatMap((value, index) => {
    const first = values.indexOf(value);
    return first === index
      ? []
      : [
          {
            path: [path, index, field],
            message: `is already in ${path}[${first}]: ${onceEach(field)}`,
          },
        ];
  });
}

const RULES: readonly Rule[] = [
  (spec) =>
    repeated(
      spec.secret_mappings.map((mapping) => mapping.target_field),
      'secret_mappings',
      'target_field',
    ),
  (spec) =>
    repeated(
      spec.models.map(({ slug }) => slug),
      'models',
      'slug',
    ),
  (spec) =>
    spec.secret_mappings.flatMap(({ target_field, value_format }, index) => {
      const right = target_field === JSON_FIELD ? 'json' : 'string';
      const path = ['secret_mappings', index, 'value_format'];
      return value_format === right ? [] : [{ path, message: FORMAT_MESSAGES[right] }];
    }),
];

/** Spec of an Integration: a stored provider credential, which `@name` and `virtual_key` name. */
export const integrationSpec = integrationShape.superRefine((spec, context) => {
  for (const problem of RULES.flatMap((rule) => rule(spec))) context.addIssue({ code: 'custom', ...problem });
});

export type IntegrationSpec = Spec;

export const integrationKind: Kind = {
  kind: 'Integration',
  plural: 'integrations',
  singular: 'integration',
  shortName: 'gint',
  group: API_GROUP,
  version: API_VERSION,
  description:
    'A stored provider credential, with the models and workspaces that may use it. Its name is the slug: "@name".',
  specSchema: integrationSpec,
  specShape: integrationShape,
  statusShape: z.strictObject(usageStatusFields),
  printerColumns: [{ name: 'Provider', type: 'string', jsonPath: '.spec.provider' }],
  celRules: [
    {
      rule: '!has(self.secret_mappings) || self.secret_mappings.all(m, self.secret_mappings.exists_one(o, o.target_field == m.target_field))',
      message: onceEach('target_field'),
      fieldPath: '.secret_mappings',
    },
    {
      rule: `!has(self.secret_mappings) || self.secret_mappings.all(m, m.target_field != '${JSON_FIELD}' || (has(m.value_format) && m.value_format == 'json'))`,
      message: `value_format ${FORMAT_MESSAGES.json}`,
      fieldPath: '.secret_mappings',
    },
    {
      rule: `!has(self.secret_mappings) || self.secret_mappings.all(m, m.target_field == '${JSON_FIELD}' || !has(m.value_format) || m.value_format == 'string')`,
      message: `value_format ${FORMAT_MESSAGES.string}`,
      fieldPath: '.secret_mappings',
    },
  ],
};
