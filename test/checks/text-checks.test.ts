/** Checks that look at the last message: patterns, counts, words, case, code, URLs. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { testMeans } from './means.ts';
import { answer, answered, asked, checkOf, find, request, rewritten, verdict } from './subjects.ts';

const history = (...contents: string[]) =>
  request({ messages: contents.map((content) => ({ role: 'user', content })) });
const called = (args: string) =>
  answer({
    choices: [
      { message: { role: 'assistant', content: 'ok', tool_calls: [{ function: { name: 'f', arguments: args } }] } },
    ],
  });
const thought = (thinking: string) =>
  answer({
    content: [
      { type: 'thinking', thinking },
      { type: 'text', text: 'ok' },
    ],
  });

describe('what is demanded and what is forbidden', () => {
  it('demands of the last message alone', async () => {
    expect(await verdict('regexMatch', { rule: 'magic' }, history('magic', 'please'))).toBe(false);
    expect(await verdict('contains', { words: ['magic'] }, history('magic', 'please'))).toBe(false);
  });

  test.each([
    ['an earlier message', history('magic', 'please')],
    ['arguments of a tool', called('{"spell":"m\\u0061gic"}')],
    ['thinking', thought('magic')],
    [
      'a definition of a tool',
      request({ tools: [{ description: 'magic' }], messages: [{ role: 'user', content: 'x' }] }),
    ],
    ['a second choice', answer({ choices: [{ message: { content: 'a' } }, { message: { content: 'magic' } }] })],
  ])('forbids in %s too', async (_what, subject) => {
    expect(await verdict('regexMatch', { rule: 'magic', not: true }, subject)).toBe(false);
    expect(await verdict('contains', { words: ['magic'], operator: 'none' }, subject)).toBe(false);
    expect(await verdict('contains', { words: ['magic'], not: true }, subject)).toBe(false);
  });

  it('lets pass where it stands nowhere', async () => {
    expect(await verdict('contains', { words: ['magic'], operator: 'none' }, history('a', 'b'))).toBe(true);
  });
});

describe('default.regexMatch', () => {
  test.each<[rule: string, text: string, matches: boolean]>(
    [
      ['^a$', 'a', true],
      ['^a$', 'a\nb', false],
      ['(?m)^b$', 'a\nb', true],
      ['(?i)straße', 'STRASSE', false],
      ['(?i)äöü', 'ÄÖÜ', true],
      ['\\p{Han}', '漢', true],
      ['^.$', '😀', true],
      ['.', '', false],
      ['', 'x', true],
    ].filter(([rule]) => rule !== '') as [string, string, boolean][],
  )('%j and %j: %s', async (rule, text, matches) => {
    expect(await find('regexMatch', { rule }, asked(text))).toEqual({
      verdict: matches,
      data: { rule, matched: matches },
    });
    expect((await find('regexMatch', { rule, not: true }, asked(text))).verdict).toBe(!matches);
  });

  test.each(['(a+)+$', '(a|a)*b', '(x+x+)+y', '(.*)*=', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    '%s takes linear time (G20)',
    async (rule) => {
      const began = performance.now();
      await find('regexMatch', { rule }, asked(`${'a'.repeat(500_000)}!`));
      expect(performance.now() - began).toBeLessThan(2_000);
    },
  );

  it('looks at less text the larger the pattern is, and says so', async () => {
    const rule = '(a?){300}a{300}b';
    const began = performance.now();
    await expect(find('regexMatch', { rule }, asked('a'.repeat(1_000_000)))).rejects.toThrow(/looks at \d+ characters/);
    await find('regexMatch', { rule }, asked('ab'.repeat(15_000)));
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  test.each(['(?=a)', '(?<!a)b', '(a)\\1', '(?>a)', 'a{2000}', '[', 'a'.repeat(1_025)])(
    'refuses the pattern %s',
    (rule) => {
      expect(() => checkOf('regexMatch', { rule })).toThrow(/^parameters\.rule (must|is)/);
    },
  );
});

describe('default.regexReplace', () => {
  const texts = async (rule: string, text: string, redactText?: string) =>
    (await rewritten('regexReplace', { rule, ...(redactText !== undefined && { redactText }) }, asked(text))).messages;

  test.each<[rule: string, text: string, put: string | undefined, expected: string]>([
    ['b', 'abcb', undefined, 'a[REDACTED]c[REDACTED]'],
    ['b', 'abcb', '', 'ac'],
    ['b+', 'bbb', '-', '-'],
    ['a*', 'baab', '-', 'b-b'],
    ['x*', 'abc', '-', 'abc'],
    ['(b)', 'abc', '$1$0\\1', 'a$1$0\\1c'],
    ['😀', 'a😀b😀', '🙂', 'a🙂b🙂'],
    ['^', 'abc', '-', 'abc'],
  ])('%j in %j with %j', async (rule, text, put, expected) => {
    expect(await texts(rule, text, put)).toEqual([{ role: 'user', content: expected }]);
  });

  it('replaces in every text of the body', async () => {
    const body = {
      system: 'a',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'a' }] },
        { role: 'assistant', content: 'b' },
      ],
    };
    expect(await rewritten('regexReplace', { rule: 'a', redactText: 'z' }, request(body))).toEqual({
      system: 'z',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'z' }] },
        { role: 'assistant', content: 'b' },
      ],
    });
  });

  it('counts what it replaced', async () => {
    expect(await find('regexReplace', { rule: 'a' }, history('aa', 'b', 'a'))).toMatchObject({
      verdict: true,
      data: { replaced: 3 },
    });
    expect((await find('regexReplace', { rule: 'x' }, history('aa'))).rewrites).toEqual([]);
  });

  it('refuses to break the arguments of a tool', async () => {
    await expect(find('regexReplace', { rule: '"', redactText: '' }, called('{"a":"b"}'))).rejects.toThrow(/no JSON/);
    expect(await rewritten('regexReplace', { rule: 'b', redactText: 'c' }, called('{"a":"b"}'))).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { arguments: '{"a":"c"}' } }] } }],
    });
  });

  it('does not let a text grow without end', async () => {
    const parameters = { rule: 'a', redactText: 'x'.repeat(1_024) };
    await expect(find('regexReplace', parameters, asked('a'.repeat(2_000)))).rejects.toThrow(/grow/);
  });

  it('leaves no match, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[ab ]{0,50}$/), async (text) => {
        const [message] = (await texts('a+b?', text, '#')) as [{ content: string }];
        expect(message.content).not.toContain('a');
        expect(message.content).toBe(text.replace(/a+b?/g, '#'));
      }),
    );
  });
});

describe('counting', () => {
  const counted = async (id: string, text: string) => Object.values((await find(id, {}, asked(text))).data)[0];

  test.each<[text: string, words: number, sentences: number, characters: number]>([
    ['', 0, 0, 0],
    ['   \n ', 0, 0, 5],
    ['Hello world', 2, 1, 11],
    ["Don't panic!", 2, 1, 12],
    ['well-known, e-mail', 2, 1, 18],
    ['One.  Two? Three!', 3, 3, 17],
    ['- * # !', 0, 0, 7],
    ['3 4', 2, 1, 3],
    ['😀 😀', 0, 0, 3],
    ['👩‍👩‍👧', 0, 0, 5],
    ['e\u0301', 1, 1, 2],
    ['我们在测试', 3, 1, 5],
    ['שלום עולם.', 2, 1, 10],
    ['สวัสดีชาวโลก', 3, 1, 12],
    ['\ud800x', 1, 1, 2],
    ['a\u00a0b\u3000c', 3, 1, 5],
    ['Line one\nLine two', 4, 2, 17],
  ])('%j has %i words, %i sentences, %i characters', async (text, words, sentences, characters) => {
    expect(await counted('wordCount', text)).toBe(words);
    expect(await counted('sentenceCount', text)).toBe(sentences);
    expect(await counted('characterCount', text)).toBe(characters);
  });

  it('counts code points as the language does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        expect(await counted('characterCount', text)).toBe([...text].length);
      }),
    );
  });

  test.each([
    [0, false],
    [1, true],
    [3, true],
    [4, false],
  ])('%i words of 1 to 3: %s', async (count, passes) => {
    const subject = asked(Array(count).fill('w').join(' '));
    expect(await verdict('wordCount', { minWords: 1, maxWords: 3 }, subject)).toBe(passes);
    expect(await verdict('wordCount', { minWords: 1, maxWords: 3, not: true }, subject)).toBe(!passes);
  });

  it('says what it counted', async () => {
    expect((await find('wordCount', { maxWords: 1 }, asked('a b'))).data).toEqual({
      words: 2,
      minWords: 0,
      maxWords: 1,
    });
    expect((await find('sentenceCount', {}, asked('a'))).data).toEqual({
      sentences: 1,
      minSentences: 0,
      maxSentences: 99_999,
    });
    expect((await find('characterCount', {}, asked('a'))).data).toEqual({
      characters: 1,
      minCharacters: 0,
      maxCharacters: 9_999_999,
    });
  });
});

describe('default.contains', () => {
  test.each<[operator: string, text: string, passes: boolean]>([
    ['any', 'one', true],
    ['any', 'none of them', true],
    ['any', 'zero', false],
    ['all', 'two, one', true],
    ['all', 'one', false],
    ['none', 'zero', true],
    ['none', 'ONE', false],
    ['none', 'ＴＷＯ', false],
  ])('%s of one and two in %j: %s', async (operator, text, passes) => {
    const subject = asked(text);
    expect(await verdict('contains', { words: ['one', 'Two'], operator }, subject)).toBe(passes);
    expect(await verdict('contains', { words: ['one', 'Two'], operator, not: true }, subject)).toBe(!passes);
  });

  it('says which of its words it found', async () => {
    expect((await find('contains', { words: ['a', 'x'] }, asked('A'))).data).toEqual({
      operator: 'any',
      found: ['a'],
      missing: ['x'],
    });
  });

  it('minds the case where it is told to', async () => {
    expect(await verdict('contains', { words: ['Ann'], caseSensitive: true }, asked('ann'))).toBe(false);
    expect(await verdict('contains', { words: ['Ann'], caseSensitive: true }, asked('Ann'))).toBe(true);
  });

  it('knows no words but its own', async () => {
    expect(await verdict('contains', { words: ['constructor', '__proto__'], operator: 'any' }, asked('x'))).toBe(false);
    expect(await verdict('contains', { words: ['.*'] }, asked('abc'))).toBe(false);
  });
});

describe('the case of letters', () => {
  test.each<[text: string, upper: boolean, lower: boolean]>([
    ['', true, true],
    ['123 !?', true, true],
    ['ABC', true, false],
    ['abc', false, true],
    ['Abc', false, false],
    ['ÄÖ', true, false],
    ['STRAßE', false, false],
    ['привет', false, true],
    ['漢字', true, true],
    ['שלום', true, true],
  ])('%j: upper %s, lower %s', async (text, upper, lower) => {
    expect(await verdict('allUppercase', {}, asked(text))).toBe(upper);
    expect(await verdict('allLowercase', {}, asked(text))).toBe(lower);
  });
});

describe('default.endsWith', () => {
  test.each<[suffix: string, text: string, passes: boolean]>([
    ['end', 'the end', true],
    ['end', 'the end.', true],
    ['end', 'the end..', false],
    ['end', 'the end \n', true],
    ['end', 'End', false],
    ['end.', 'the end.', true],
    ['é', 'cafe\u0301', true],
    ['😀', 'ok 😀', true],
    ['end', '', false],
  ])('%j after %j: %s', async (suffix, text, passes) => {
    expect(await verdict('endsWith', { suffix }, asked(text))).toBe(passes);
  });
});

describe('default.notNull', () => {
  test.each([
    ['a text', answered('x'), true],
    ['blanks', answered(' \n'), false],
    ['null', answer({ choices: [{ message: { content: null } }] }), false],
    ['no choices', answer({ choices: [] }), false],
    ['a call', called('{}'), true],
    ['a call alone', answer({ content: [{ type: 'tool_use', input: {} }] }), true],
    ['thinking alone', answer({ content: [{ type: 'thinking', thinking: 'Hm' }] }), false],
    ['tools that might be called', request({ tools: [{ name: 'f' }] }), false],
  ])('%s: %s', async (_what, subject, passes) => {
    expect(await verdict('notNull', {}, subject)).toBe(passes);
  });
});

describe('default.addPrefix', () => {
  const messages = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'A' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'x' } },
        { type: 'text', text: 'last' },
        { type: 'text', text: 'more' },
      ],
    },
  ];

  test.each([
    [
      undefined,
      {
        messages: [
          ...messages.slice(0, 3),
          {
            role: 'user',
            content: [messages[3]?.content[0], { type: 'text', text: '> last' }, { type: 'text', text: 'more' }],
          },
        ],
      },
    ],
    ['system', { messages: [{ role: 'system', content: '> S' }, ...messages.slice(1)] }],
    ['assistant', { messages: [...messages.slice(0, 2), { role: 'assistant', content: '> A' }, messages[3]] }],
    ['tool', { messages }],
  ])('goes before the last message of %s', async (applyToRole, expected) => {
    const parameters = { prefix: '> ', ...(applyToRole !== undefined && { applyToRole }) };
    expect(await rewritten('addPrefix', parameters, request({ messages }))).toEqual(expected);
  });

  it('goes before an answer, and before the block that repeats it', async () => {
    const message = { role: 'assistant', content: 'Hi', content_blocks: [{ type: 'text', text: 'Hi' }] };
    expect(await rewritten('addPrefix', { prefix: '> ' }, answer({ choices: [{ message }, { message }] }))).toEqual({
      choices: [
        { message: { ...message, content: '> Hi', content_blocks: [{ type: 'text', text: '> Hi' }] } },
        { message },
      ],
    });
  });

  it('goes before a prompt', async () => {
    expect(await rewritten('addPrefix', { prefix: '> ' }, request({ prompt: 'x' }))).toEqual({ prompt: '> x' });
  });
});

describe('default.containsCode', () => {
  test.each<[language: string, code: string]>([
    ['SQL', 'SELECT name FROM users WHERE id = 1 ORDER BY name;'],
    ['Python', 'import os\n\ndef main():\n    print(os.name)'],
    ['TypeScript', "import { a } from './a.ts';\nconst x: number = 1;\ninterface Y { z: string }"],
    ['JavaScript', 'const x = 1;\nconsole.log(x);'],
    ['Java', 'public class A {\n  public static void main(String[] args) { System.out.println(1); }\n}'],
    ['C#', 'using System;\nnamespace A.B { class C { void D() { Console.WriteLine(1); } } }'],
    ['C++', '#include <iostream>\nint main() { std::cout << 1; }'],
    ['C', '#include <stdio.h>\nint main() { printf("x"); }'],
    ['PHP', '<?php echo $x;'],
    ['Ruby', 'def hello\n  puts "x"\nend'],
    ['Swift', 'import Foundation\nfunc a(b: Int) -> Int { let c = b\n return c }'],
    ['Kotlin', 'fun main() {\n  val x = 1\n  println(x)\n}'],
    ['Go', 'package main\n\nfunc main() { x := 1\n fmt.Println(x) }'],
    ['Rust', 'fn main() {\n  let mut x = 1;\n  println!("{}", x);\n}'],
    ['Shell', '#!/bin/bash\nsudo apt install x | grep y'],
    ['HTML', '<html><body><p class="a">x</p></body></html>'],
    ['CSS', '.a {\n  color: red;\n}'],
    ['XML', '<?xml version="1.0"?><a>x</a>'],
    ['JSON', '{"a": 1, "b": [true]}'],
    ['YAML', 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: x'],
    ['Dockerfile', 'FROM node:26\nRUN npm ci\nCMD ["node"]'],
  ])('recognises %s, bare and in a fence without a tag', async (format, code) => {
    expect(await verdict('containsCode', { format }, answered(code))).toBe(true);
    expect(await verdict('containsCode', { format }, answered(`Here:\n\`\`\`\n${code}\n\`\`\`\nThat is it.`))).toBe(
      true,
    );
    expect(await verdict('containsCode', {}, answered(code))).toBe(true);
    expect(await verdict('containsCode', { format, not: true }, answered(code))).toBe(false);
  });

  test.each([
    'Select a seat from the plan, please.',
    'Import duties are due; from Monday on, everything for everyone.',
    'We let it go: the function of C is to be a vitamin.',
    'Chapter 1\n\nIt was a dark night. If it rained, nobody came: that was the rule.',
    'a < b and b > c, so {a, b} is [x].',
    '- milk\n- eggs\n- bread',
    '```text\njust words\n```',
    '',
  ])('takes %j for prose', async (prose) => {
    expect(await find('containsCode', {}, answered(prose))).toEqual({ verdict: false, data: { languages: [] } });
  });

  test.each([
    ['```python\nx\n```', ['Python']],
    ['```PY title="a"\nx\n```', ['Python']],
    ['```brainfuck\n+++\n```', ['Other']],
    ['````js\n```\ninner\n```\n````', ['JavaScript']],
    ['```sql\nselect 1\n``` and ```go\nx\n```', ['SQL', 'Go']],
    ['```rust\nnever closed', ['Rust']],
  ])('believes the fence of %j', async (text, languages) => {
    expect((await find('containsCode', {}, answered(text))).data.languages).toEqual(languages);
  });

  it('does not take the arguments of a tool for code that is forbidden', async () => {
    expect(await verdict('containsCode', { not: true }, called('{"a": 1}'))).toBe(true);
    expect(await verdict('containsCode', { not: true }, thought('```js\nx\n```'))).toBe(false);
  });
});

describe('default.validUrls', () => {
  const resolving = (...hosts: string[]) => testMeans({ resolves: async ({ hostname }) => hosts.includes(hostname) });
  const serving = (status: number) =>
    testMeans({ download: async () => ({ status, bytes: new Uint8Array(), complete: true }) });

  test.each<[text: string, passes: boolean, opposite: boolean]>([
    ['no URL at all', true, true],
    ['https://good.example/a?b=c#d', true, false],
    ['(see https://good.example).', true, false],
    ['https://good.example, https://bad.example', false, false],
    ['<a href="http://bad.example">', false, true],
    ['ftp://bad.example', true, true],
    ['https://', true, true],
    ['https://good.example:8443/ok', true, false],
    ['HTTPS://GOOD.EXAMPLE', true, false],
  ])('by name, %j: %s, with `not` %s', async (text, passes, opposite) => {
    const means = resolving('good.example');
    expect(await verdict('validUrls', { onlyDNS: true }, answered(text), means)).toBe(passes);
    expect(await verdict('validUrls', { onlyDNS: true, not: true }, answered(text), means)).toBe(opposite);
  });

  test.each([
    [200, true],
    [399, true],
    [404, false],
    [500, false],
  ])('an answer with status %i: %s', async (status, passes) => {
    expect(await verdict('validUrls', {}, answered('https://a.example'), serving(status))).toBe(passes);
  });

  it('takes a host that is refused for one that leads nowhere', async () => {
    const means = testMeans({ download: () => Promise.reject(new Error('host_not_allowed')) });
    expect(await find('validUrls', {}, answered('http://169.254.169.254/latest'), means)).toEqual({
      verdict: false,
      data: { urls: 1, valid: 0, invalidHosts: ['169.254.169.254'] },
    });
  });

  it('asks once for each URL, and for 20 at most', async () => {
    const means = serving(200);
    await find('validUrls', {}, answered('https://a.example https://a.example https://b.example'), means);
    expect(means.downloads.map(({ url }) => url.hostname)).toEqual(['a.example', 'b.example']);
    const many = Array.from({ length: 21 }, (_, index) => `https://h${index}.example`).join(' ');
    await expect(find('validUrls', {}, answered(many), means)).rejects.toThrow(/21 URLs/);
  });

  it('shows hosts, never paths, which may hold credentials', async () => {
    const means = resolving();
    const { data } = await find('validUrls', { onlyDNS: true }, answered('https://bad.example/?token=canary'), means);
    expect(JSON.stringify(data)).not.toContain('canary');
  });
});
