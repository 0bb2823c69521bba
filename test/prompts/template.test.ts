/** The syntax of templates, and what of it is refused, with the place of the mistake. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptSpec } from '#crds/kinds/prompt.ts';
import { promptPartialSpec } from '#crds/kinds/prompt-partial.ts';
import { problemsOf } from '#crds/problems.ts';
import { parseReference } from '#crds/prompts/reference.ts';
import { parseTemplate, partialsOf, TemplateProblem } from '#crds/prompts/template.ts';

function problemOf(text: string): string {
  try {
    parseTemplate(text);
    return 'none';
  } catch (error) {
    if (error instanceof TemplateProblem) return error.message;
    throw error;
  }
}

describe('a template is refused', () => {
  it.each([
    ['Hello {{name', 'has a tag at character 6 that ends with no }} within 1024 characters'],
    ['{{{name}}', 'has a tag at character 0 that ends with no }}} within 1024 characters'],
    ['{{ {name}}', 'has a tag at character 0 that ends with no }}} within 1024 characters'],
    ['{{#a}}x', 'unclosed section "a" at character 7'],
    ['x{{/a}}', 'unopened section "a" at character 1'],
    ['{{#a}}{{#b}}{{/a}}{{/b}}', 'unclosed section "b" at character 12'],
    ['{{=<% %>=}}', 'changes the delimiters at character 0: they are always {{ and }}'],
    ['{{ = | | = }}', 'changes the delimiters at character 0: they are always {{ and }}'],
    ['a{{}}', 'has a tag without a name at character 1'],
    ['{{a..b}}', 'has a tag without a name at character 0'],
    ['{{#.a}}{{/.a}}', 'has a tag without a name at character 0'],
    ['{{>Not A Name}}', 'names a partial at character 0 that is neither a name nor name@version'],
    ['{{>a@}}', 'names a partial at character 0 that is neither a name nor name@version'],
    [`{{a${' '.repeat(1100)}}}`, 'has a tag at character 0 that ends with no }} within 1024 characters'],
    ['x'.repeat(262_145), 'must have at most 262144 characters'],
    [`${'{{#a}}'.repeat(33)}${'{{/a}}'.repeat(33)}`, 'nests sections more than 32 levels deep at character 192'],
  ])('%.40s', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  it.each(['', 'plain', '{ { } }', '{"a": {"b": 1}}', 'a }} b', `${'{{#a}}'.repeat(32)}${'{{/a}}'.repeat(32)}`])(
    'but not %.40s',
    (text) => expect(problemOf(text)).toBe('none'),
  );
});

describe('however it is made, a template', () => {
  it('is parsed or refused, in bounded time', () => {
    const piece = fc.constantFrom(
      '{{',
      '}}',
      '{{{',
      '}}}',
      '#',
      '/',
      '^',
      '!',
      '>',
      '&',
      '=',
      'a',
      '.',
      '@',
      ' ',
      '\n',
      '{{#a}}',
      '{{/a}}',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        problemOf(pieces.join(''));
      }),
      { numRuns: 500 },
    );
    const startedMs = performance.now();
    for (const text of [
      `{{a${' '.repeat(200_000)}`,
      `{{{a}}${' '.repeat(200_000)}`,
      '{{'.repeat(130_000),
      `{{a}}${' '.repeat(200_000)}{{b}}`,
    ])
      problemOf(text);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it('says which partials it names', () => {
    const template = parseTemplate('{{>a}}{{#x}}{{> b@2 }}{{^y}}{{>c@prod}}{{/y}}{{/x}}{{! {{>d}}');
    expect(partialsOf(template)).toEqual(['a', 'b@2', 'c@prod']);
  });
});

describe('a reference', () => {
  it.each([
    ['a', { name: 'a', selector: { by: 'published' } }],
    ['a@default', { name: 'a', selector: { by: 'published' } }],
    ['a@latest', { name: 'a', selector: { by: 'latest' } }],
    ['a@12', { name: 'a', selector: { by: 'version', version: 12 } }],
    ['a@production', { name: 'a', selector: { by: 'label', label: 'production' } }],
    ['a@toString', { name: 'a', selector: { by: 'label', label: 'toString' } }],
  ])('%s', (text, reference) => expect(parseReference(text)).toEqual(reference));
});

describe('a spec is refused, naming the field', () => {
  const say = (spec: object) => {
    const { error } = promptSpec.safeParse(spec);
    return error === undefined ? [] : problemsOf(error, 'spec').map(({ path, message }) => `${path} ${message}`);
  };
  const messages = [{ role: 'user', content: 'x' }];

  it.each<[spec: object, problem: string]>([
    [{}, 'spec.messages must be here, or string: exactly one of them'],
    [{ messages, string: 'x' }, 'spec.messages must be here, or string: exactly one of them'],
    [{ messages: [] }, 'spec.messages must have at least 1 item, got 0'],
    [{ messages: [{ content: 'x' }] }, 'spec.messages[0].role is required: a string such as "user"'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: '{{#a}}' }] }] },
      'spec.messages[0].content[0].text unclosed section "a" at character 6',
    ],
    [{ string: '{{a' }, 'spec.string has a tag at character 0'],
    [{ messages, parameters: { user: '{{/a}}' } }, 'spec.parameters.user unopened section "a" at character 0'],
    [
      { messages, tools: [{ function: { description: '{{' } }] },
      'spec.tools[0].function.description has a tag at character 0',
    ],
    [{ messages, parameters: { model: 'x' } }, 'spec.parameters.model has a field of its own beside parameters'],
    [{ messages, labels: ['latest'] }, 'spec.labels[0] must be neither "latest", "default" nor a number'],
    [{ messages, labels: ['12'] }, 'spec.labels[0] must be neither "latest", "default" nor a number'],
    [{ messages, labels: ['a b'] }, 'spec.labels[0] must be 1 to 64 letters, digits, "_", "-" and "."'],
    [
      { messages, variables: { 'a.b': {} } },
      'spec.variables must have names without spaces, dots, braces and signs of templates',
    ],
    [
      { messages, variables: { a: { requird: true } } },
      'spec.variables.a unknown key "requird": did you mean "required"?',
    ],
    [{ messages, provider: 'Open AI' }, 'spec.provider must be the name of an Integration, perhaps after "@"'],
    [{ messages, text: 'x' }, 'spec unknown key "text"'],
    [
      { string: 'x', parameters: { big: Array.from({ length: 3 }, () => 'y'.repeat(200_000)) } },
      'spec must have at most 524288 characters as JSON',
    ],
  ])('%.80j', (spec, problem) => {
    expect(say(spec).join('\n')).toContain(problem);
  });

  it('of a partial too', () => {
    const { error } = promptPartialSpec.safeParse({ string: '{{>a b}}' });
    expect(error && problemsOf(error, 'spec')[0]).toEqual({
      path: 'spec.string',
      message: 'names a partial at character 0 that is neither a name nor name@version',
    });
  });
});
