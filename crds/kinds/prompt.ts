import { freeObject, pattern, text } from '../config/values.ts';
import { z } from '../config/words.ts';
import { API_GROUP, API_VERSION } from '../object.ts';
import { type CONTENT_FIELDS, contentText, type PromptContent, templateProblems } from '../prompts/content.ts';
import { MAX_TEMPLATE_CHARS } from '../prompts/template.ts';
import type { Kind } from './kind.ts';
import { publicationColumns, publicationFields, publicationStatus } from './prompt-fields.ts';

const MAX_MESSAGES = 1_000;
const MAX_TOOLS = 128;
const MAX_VARIABLES = 256;
const VARIABLE = /^[^\s{}.#^/>&!=]{1,128}$/;
/** Of all that a version holds, as JSON. */
export const MAX_CONTENT_CHARS = 524_288;

const message = freeObject('A message: role, content and what else the chat API knows.').refine(
  ({ role }) => typeof role === 'string' && role !== '',
  { path: ['role'], error: 'is required: a string such as "user"' },
);

const anyValue = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.unknown()),
  z.record(z.string(), z.unknown()),
]);

const variable = z.strictObject({
  required: z.boolean().describe('true: a request that does not give it is refused.').default(false),
  default: anyValue.describe('Its value where a request gives none.').optional(),
  description: text(1024, 'What it is for.').optional(),
});

const tools = (description: string) =>
  z.array(freeObject('A function, as the chat API has it.')).max(MAX_TOOLS).describe(description).optional();

export const promptContentShape = {
  model: text(256, 'Model of the rendered request.').optional(),
  virtual_key: text(253, 'Name of the Integration that completions go to where no config says otherwise.').optional(),
  provider: pattern(
    254,
    /^@?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
    'the name of an Integration, perhaps after "@"',
    'The same as virtual_key, written "@name".',
  ).optional(),
  messages: z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES)
    .describe('Messages of a chat. Every string in them is a template.')
    .optional(),
  string: text(MAX_TEMPLATE_CHARS, 'Instead: the prompt of a text completion, a template.').optional(),
  parameters: freeObject('Other fields of the request: temperature, max_tokens, ... Strings are templates.').optional(),
  functions: tools('Functions that the model may call; strings are templates.'),
  tools: tools('Tools that the model may call; strings are templates.'),
  tool_choice: z
    .union([text(64, 'A word.'), freeObject('A tool.')])
    .describe('Which tool is called.')
    .optional(),
  variables: z
    .record(z.string().min(1).max(128), variable)
    .refine((value) => Object.keys(value).length <= MAX_VARIABLES, { error: `must have at most ${MAX_VARIABLES} keys` })
    .refine((value) => Object.keys(value).every((name) => VARIABLE.test(name)), {
      error: 'must have names without spaces, dots, braces and signs of templates',
    })
    .meta({
      description: 'What is known of variables. Those that are not listed may be absent.',
      maxProperties: MAX_VARIABLES,
    })
    .optional(),
} satisfies Readonly<Record<(typeof CONTENT_FIELDS)[number], z.ZodType>>;

const promptShape = z.strictObject({
  name: text(255, 'Name for people.').optional(),
  ...promptContentShape,
  ...publicationFields,
});

type Shape = z.infer<typeof promptShape>;
type Issues = z.core.$RefinementCtx;

export const PROMPT_MESSAGES = {
  oneForm: 'must be here, or string: exactly one of them',
  elsewhere: 'has a field of its own beside parameters',
} as const;

const OWN_FIELDS: readonly string[] = ['model', 'messages', 'prompt', 'tools', 'functions', 'tool_choice', 'variables'];

/** Spec of a Prompt: a request with holes, of which each version stays. */
export const promptSpec = promptShape.superRefine((spec: Shape, context) => {
  if ((spec.messages === undefined) === (spec.string === undefined))
    refuse(context, ['messages'], PROMPT_MESSAGES.oneForm);
  for (const field of OWN_FIELDS)
    if (spec.parameters !== undefined && Object.hasOwn(spec.parameters, field))
      refuse(context, ['parameters', field], PROMPT_MESSAGES.elsewhere);
  for (const { path, message: problem } of templateProblems(spec as PromptContent)) refuse(context, path, problem);
  const size = contentText(spec).length;
  if (size > MAX_CONTENT_CHARS)
    refuse(context, [], `must have at most ${MAX_CONTENT_CHARS} characters as JSON, got ${size}`);
});

function refuse(context: Issues, path: readonly PropertyKey[], problem: string): void {
  context.addIssue({ code: 'custom', path: [...path], message: problem });
}

export type PromptSpec = Shape;

export const promptKind: Kind = {
  kind: 'Prompt',
  plural: 'prompts',
  singular: 'prompt',
  shortName: 'gpr',
  group: API_GROUP,
  version: API_VERSION,
  description: 'A request with variables, filled in by the gateway. Each change of it is a version that stays.',
  specSchema: promptSpec,
  specShape: promptShape,
  statusShape: publicationStatus,
  printerColumns: [{ name: 'Model', type: 'string', jsonPath: '.spec.model' }, ...publicationColumns],
  celRules: [
    {
      rule: 'has(self.messages) != has(self.string)',
      message: PROMPT_MESSAGES.oneForm,
      fieldPath: '.messages',
    },
  ],
};
