/** Personal data of a fixed form: what is found, what is not, and what stands in its place. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { sameLengthAscii } from '#gateway/checks/sensitive/plain-digits.ts';
import { redacted, type Span, withoutOverlaps } from '#gateway/checks/sensitive/spans.ts';
import { answer, asked, find, request, rewritten, verdict } from './subjects.ts';

/** The text as `redact` leaves it. */
async function masked(text: string, parameters: object = {}): Promise<string> {
  const body = (await rewritten('pii', { redact: true, ...parameters }, asked(text))) as {
    messages: [{ content: string }];
  };
  return body.messages[0].content;
}

describe('e-mail addresses', () => {
  test.each([
    ['ann@example.com', '[EMAIL_ADDRESS]'],
    ['Write to <ann.b+c@mail.example.co.uk>, please.', 'Write to <[EMAIL_ADDRESS]>, please.'],
    ['mailto:ann@example.com.', 'mailto:[EMAIL_ADDRESS].'],
    ['a@b.de; c@d.fr', '[EMAIL_ADDRESS]; [EMAIL_ADDRESS]'],
    ["'ann@example.com'", "'[EMAIL_ADDRESS]'"],
    ['müller@bücher.example', '[EMAIL_ADDRESS]'],
    ['用户@例子.中国', '[EMAIL_ADDRESS]'],
    ['ann＠example.com', '[EMAIL_ADDRESS]'],
    ['ann_b@xn--bcher-kva.example', '[EMAIL_ADDRESS]'],
  ])('%s', async (text, expected) => {
    expect(await masked(text)).toBe(expected);
  });

  test.each(['@ann', 'ann@', 'ann@home', 'a @ b.com', 'x@-y.com', '@@@@', 'me@1.2', 'git@host:repo'])(
    '%s is none',
    async (text) => {
      expect(await masked(text)).toBe(text);
    },
  );
});

describe('payment cards', () => {
  test.each([
    ['4111111111111111', '[CREDIT_CARD]'],
    ['4111 1111 1111 1111', '[CREDIT_CARD]'],
    ['4111-1111-1111-1111.', '[CREDIT_CARD].'],
    ['card 5500005555555559 exp 12/30', 'card [CREDIT_CARD] exp 12/30'],
    ['3782 822463 10005', '[CREDIT_CARD]'],
    ['6011000990139424', '[CREDIT_CARD]'],
    ['30569309025904', '[CREDIT_CARD]'],
    ['3530111333300000', '[CREDIT_CARD]'],
    ['４１１１１１１１１１１１１１１１', '[CREDIT_CARD]'],
    ['4111\u00a01111\u20111111\u00a01111', '[CREDIT_CARD]'],
    ['No 12 4111 1111 1111 1111', 'No 12 [CREDIT_CARD]'],
    ['4111 1111 1111 1111 5500 0055 5555 5559', '[CREDIT_CARD] [CREDIT_CARD]'],
  ])('%s', async (text, expected) => {
    expect(await masked(text, { entities: ['CREDIT_CARD'] })).toBe(expected);
  });

  test.each([
    ['a wrong check digit', '4111111111111112'],
    ['no issuer', '1111111111111117'],
    ['too short', '411111111111'],
    ['part of a longer number', '94111111111111111234567'],
  ])('%s is none', async (_what, text) => {
    expect(await masked(text, { entities: ['CREDIT_CARD'] })).toBe(text);
  });
});

describe('account numbers', () => {
  test.each([
    ['DE89370400440532013000', '[IBAN]'],
    ['DE89 3704 0044 0532 0130 00 is mine', '[IBAN] is mine'],
    ['gb29 nwbk 6016 1331 9268 19', '[IBAN]'],
    ['FR14-2004-1010-0505-0001-3M02-606', '[IBAN]'],
    ['(NO9386011117947)', '([IBAN])'],
    ['MT84MALT011000012345MTLCAST001S', '[IBAN]'],
  ])('%s', async (text, expected) => {
    expect(await masked(text, { entities: ['IBAN'] })).toBe(expected);
  });

  test.each([
    ['a wrong checksum', 'DE89370400440532013001'],
    ['a country without any', 'US89370400440532013000'],
    ['the wrong length', 'DE8937040044053201300'],
    ['inside a word', 'XDE89370400440532013000'],
    ['too long', 'DE893704004405320130001'],
  ])('%s is none', async (_what, text) => {
    expect(await masked(text, { entities: ['IBAN'] })).toBe(text);
  });
});

describe('social security numbers', () => {
  test.each([
    ['123-45-6789', '[SSN]'],
    ['SSN: 123 45 6789.', 'SSN: [SSN].'],
    ['123\u201345\u20136789', '[SSN]'],
  ])('%s', async (text, expected) => {
    expect(await masked(text, { entities: ['SSN'] })).toBe(expected);
  });

  test.each([
    '000-45-6789',
    '666-45-6789',
    '900-45-6789',
    '123-00-6789',
    '123-45-0000',
    '123-45 6789',
    '1123-45-6789',
    '123-45-67890',
    '123456789',
  ])('%s is none', async (text) => {
    expect(await masked(text, { entities: ['SSN'] })).toBe(text);
  });
});

describe('addresses of machines', () => {
  test.each([
    ['10.0.0.1', '[IP_ADDRESS]'],
    ['at 192.168.1.254:8080.', 'at [IP_ADDRESS]:8080.'],
    ['2001:db8::1', '[IP_ADDRESS]'],
    ['[fe80::1]', '[[IP_ADDRESS]]'],
    ['::ffff:10.0.0.1', '[IP_ADDRESS]'],
    ['is ::1, ok', 'is [IP_ADDRESS], ok'],
    ['2001:0db8:85a3:0000:0000:8a2e:0370:7334.', '[IP_ADDRESS].'],
  ])('%s', async (text, expected) => {
    expect(await masked(text, { entities: ['IP_ADDRESS'] })).toBe(expected);
  });

  test.each(['256.1.1.1', '1.2.3', '1.2.3.4.5', 'v10.0.0.1.2', '12:30:45', 'std::vector', 'a::b', '::', 'fe80', '1:2'])(
    '%s is none',
    async (text) => {
      expect(await masked(text, { entities: ['IP_ADDRESS'] })).toBe(text);
    },
  );
});

describe('phone numbers', () => {
  test.each([
    ['+49 30 901820', undefined, '[PHONE_NUMBER]'],
    ['call +1 (415) 555-2671 now', undefined, 'call [PHONE_NUMBER] now'],
    ['(415) 555-2671', undefined, '[PHONE_NUMBER]'],
    ['415.555.2671', undefined, '[PHONE_NUMBER]'],
    ['030 901820', 'DE', '[PHONE_NUMBER]'],
    ['+442079460958.', undefined, '[PHONE_NUMBER].'],
    ['＋４９ ３０ ９０１８２０', undefined, '[PHONE_NUMBER]'],
    ['٤١٥-٥٥٥-٢٦٧١', undefined, '[PHONE_NUMBER]'],
  ])('%s in %s', async (text, country, expected) => {
    const parameters = { entities: ['PHONE_NUMBER'], ...(country !== undefined && { defaultCountry: country }) };
    expect(await masked(text, parameters)).toBe(expected);
  });

  test.each([
    '12345',
    '2026-05-01',
    '01/02/2026',
    '1.234.567,89',
    '+999 1234567',
    '1700000000',
    'x4155552671',
    '123-456',
  ])('%s is none', async (text) => {
    expect(await masked(text, { entities: ['PHONE_NUMBER'] })).toBe(text);
  });

  it('are not looked for without end', async () => {
    const began = performance.now();
    await expect(find('pii', {}, asked('415 555 26 '.repeat(30_000)))).rejects.toThrow(/too many numbers/);
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});

describe('default.pii', () => {
  const mixed = 'Ann, ann@example.com, 4111 1111 1111 1111, 123-45-6789, ann@example.com';

  it('fails where it finds something, saying what and how often but never what it is', async () => {
    const finding = await find('pii', {}, asked(mixed));
    expect(finding).toEqual({ verdict: false, data: { entities: { CREDIT_CARD: 1, SSN: 1, EMAIL_ADDRESS: 2 } } });
  });

  it('passes what it redacts', async () => {
    expect(await find('pii', { redact: true }, asked(mixed))).toMatchObject({ verdict: true, data: { redacted: 4 } });
    expect(await masked(mixed)).toBe('Ann, [EMAIL_ADDRESS], [CREDIT_CARD], [SSN], [EMAIL_ADDRESS]');
  });

  it('looks for listed entities alone', async () => {
    expect(await verdict('pii', { entities: ['IBAN'] }, asked(mixed))).toBe(true);
    expect(await masked(mixed, { entities: ['SSN'] })).toBe(mixed.replace('123-45-6789', '[SSN]'));
  });

  it('looks into tool calls and thinking, and redacts them', async () => {
    const message = (args: string, thinking: string) => ({
      choices: [
        {
          message: {
            content: null,
            reasoning_content: thinking,
            tool_calls: [{ function: { name: 'mail', arguments: args } }],
          },
        },
      ],
    });
    const subject = answer(message('{"to":"ann\\u0040example.com"}', 'She is ann@example.com'));
    expect(await verdict('pii', {}, subject)).toBe(false);
    expect(await rewritten('pii', { redact: true }, subject)).toEqual(
      message('{"to":"[EMAIL_ADDRESS]"}', 'She is [EMAIL_ADDRESS]'),
    );
  });

  it('redacts objects of Anthropic tool calls', async () => {
    const body = (to: string) => ({
      messages: [{ role: 'assistant', content: [{ type: 'tool_use', input: { to, deep: [{ to }] } }] }],
    });
    expect(await rewritten('pii', { redact: true }, request(body('a@b.example')))).toEqual(body('[EMAIL_ADDRESS]'));
  });

  it('leaves nothing behind that it would find again', async () => {
    const piece = fc.constantFrom(
      'ann@b.example',
      '4111 1111 1111 1111',
      '123-45-6789',
      '10.0.0.1',
      '+49 30 901820',
      'DE89370400440532013000',
      ' ',
      'x',
      '-',
      '7',
      '😀',
      '\n',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (parts) => {
        const text = parts.join(' ');
        const clean = await masked(text);
        expect(await find('pii', {}, asked(clean))).toMatchObject({ verdict: true });
      }),
      { numRuns: 150 },
    );
  });

  test.each([
    ['@', '@'.repeat(1_000_000)],
    ['letters and @', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@'.repeat(25_000)],
    ['domains', `a@${'b.'.repeat(500_000)}`],
    ['fours', '4 '.repeat(500_000)],
    ['digits', '4'.repeat(1_000_000)],
    ['colons', ':'.repeat(1_000_000)],
    ['hex', 'ab:'.repeat(330_000)],
    ['heads of IBANs', 'DE89 '.repeat(200_000)],
    ['dots and digits', '1.'.repeat(500_000)],
  ])('is done in bounded time with 1 MB of %s', async (_what, text) => {
    const began = performance.now();
    await find('pii', {}, asked(text)).catch((error: Error) => expect(error.message).toMatch(/too many/));
    expect(performance.now() - began).toBeLessThan(4_000);
  });
});

describe('spans', () => {
  const span = (kind: string, start: number, end: number): Span => ({ kind, start, end });

  test.each<[given: Span[], expected: Span[]]>([
    [[], []],
    [
      [span('a', 3, 5), span('b', 0, 2)],
      [span('b', 0, 2), span('a', 3, 5)],
    ],
    [[span('a', 0, 4), span('b', 2, 6)], [span('a', 0, 6)]],
    [[span('a', 2, 6), span('b', 0, 4)], [span('a', 0, 6)]],
    [
      [span('a', 0, 2), span('b', 2, 4)],
      [span('a', 0, 2), span('b', 2, 4)],
    ],
    [[span('a', 2, 3), span('b', 0, 9)], [span('a', 0, 9)]],
  ])('%j become %j', (given, expected) => {
    expect(withoutOverlaps(given)).toEqual(expected);
  });

  it('cover all that any of them covered, and do not overlap', () => {
    const any = fc
      .tuple(fc.nat(40), fc.integer({ min: 1, max: 10 }))
      .map(([start, size]) => span('k', start, start + size));
    fc.assert(
      fc.property(fc.array(any, { maxLength: 10 }), (given) => {
        const kept = withoutOverlaps(given);
        for (const { start, end } of given)
          expect(kept.some((other) => other.start <= start && other.end >= end)).toBe(true);
        kept.reduce((last, { start, end }) => {
          expect(start).toBeGreaterThanOrEqual(last);
          return end;
        }, 0);
      }),
    );
  });

  it('are cut out of a text, which else stays as it is', () => {
    expect(redacted('a😀b', [span('X', 1, 3)])).toBe('a[X]b');
    expect(redacted('abc', [])).toBe('abc');
  });
});

it('plain characters stand for others one for one', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(sameLengthAscii(text).length).toBe(text.length);
    }),
  );
});
