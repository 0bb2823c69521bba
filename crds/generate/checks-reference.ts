/** What guardrails can check, in Markdown: a section for each check, with its parameters and an example that works. */
import { stringify } from 'yaml';
import type { Kind } from '../kinds/kind.ts';
import { fieldTable } from './reference.ts';

export interface CheckRow {
  /** `<vendor>.` at its beginning stands for any name. */
  readonly id: string;
  /** Further ids under which it is known. */
  readonly aliases: readonly string[];
  /** One sentence. */
  readonly does: string;
  readonly sides: 'request' | 'response' | 'both';
  readonly parameters: Kind['specShape'];
  /** Parameters that work. */
  readonly example: Readonly<Record<string, unknown>>;
}

const SIDES: Readonly<Record<CheckRow['sides'], string>> = {
  request: 'of requests only',
  response: 'of answers only',
  both: 'of requests and answers',
};

const INTRODUCTION = `# Checks

Written by \`npm run generate\` from the catalogue of checks; do not edit.

Each is an item of \`checks\` of a Guardrail, as in the examples below; a GatewayConfig names Guardrails in
\`input_guardrails\` and \`output_guardrails\`, or holds checks itself:

\`\`\`yaml
spec:
  input_guardrails:
    - no-secrets # the Guardrail of that name
    - { default.contains: { words: [swordfish], operator: none }, deny: true }
\`\`\`

Ids are matched without regard to case; without a dot, \`default.\` is meant. An unknown parameter is refused.`;

/** Markdown of all checks, in the order given. */
export function checksReference(checks: readonly CheckRow[]): string {
  const links = checks.map(({ id }) => `[\`${id}\`](#${anchorOf(id)})`).join(', ');
  return [INTRODUCTION, '', links, '', ...checks.map(section)].join('\n');
}

function anchorOf(id: string): string {
  return id.toLowerCase().replaceAll(/[^a-z0-9-]/g, '');
}

function section({ id, aliases, does, sides, parameters, example }: CheckRow): string {
  const others = aliases.map((alias) => `\`${alias}\``).join(', ');
  const item = { id: id.replace('<vendor>', 'acme'), ...(Object.keys(example).length > 0 && { parameters: example }) };
  return [
    `## \`${id}\``,
    '',
    does,
    '',
    `A check ${SIDES[sides]}${others === '' ? '' : `; also known as ${others}`}.`,
    ...(id.startsWith('<vendor>') ? ['`<vendor>` is any name, such as `acme`: results tell it.'] : []),
    '',
    ...fieldTable(parameters),
    '',
    '```yaml',
    stringify([item], { lineWidth: 0 }).trimEnd(),
    '```',
    '',
  ].join('\n');
}
