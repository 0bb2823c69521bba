/** Images by URL put into requests. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { imageTypeOf } from '#gateway/checks/request/image-type.ts';
import type { Json } from '#gateway/providers/provider.ts';
import { text } from '../fakes/replies.ts';
import { startUpstream, type Upstream } from '../fakes/upstream.ts';
import { testMeans } from './means.ts';
import { checkOf, find, request, rewritten } from './subjects.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const JPEG = Buffer.from('ffd8ffe000104a46494600', 'hex');
const PNG_URL = `data:image/png;base64,${PNG.toString('base64')}`;

let server: Upstream;
beforeAll(async () => {
  server = await startUpstream((call) => ({
    send(response) {
      if (call.path === '/missing') return void response.writeHead(404).end();
      if (call.path === '/moved') return void response.writeHead(302, { location: '/a.png' }).end();
      response.setHeader('content-type', 'text/html');
      response.end(call.path === '/b.jpg' ? JPEG : call.path === '/text' ? Buffer.from('<svg onload=x>') : PNG);
    },
  }));
});
afterAll(() => server.close());

const at = (path: string) => `${server.origin}${path}`;
const chat = (...parts: object[]): Json => ({ messages: [{ role: 'user', content: parts }] });
const image = (path: string) => ({ type: 'image_url', image_url: { url: at(path), detail: 'low' } });

describe('an image by URL', () => {
  it("becomes a data URL in OpenAI's chat, its type read from its bytes", async () => {
    const body = chat({ type: 'text', text: 'Look' }, image('/a.png'), image('/b.jpg'));
    expect(await rewritten('inlineImageUrls', {}, request(body))).toEqual(
      chat(
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: PNG_URL, detail: 'low' } },
        { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${JPEG.toString('base64')}`, detail: 'low' } },
      ),
    );
  });

  it('becomes one in the Responses API', async () => {
    const body = { input: [{ role: 'user', content: [{ type: 'input_image', image_url: at('/a.png') }] }] };
    expect(await rewritten('inlineImageUrls', {}, request(body))).toEqual({
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: PNG_URL }] }],
    });
  });

  it("becomes base64 in Anthropic's messages, inside the results of tools too", async () => {
    const block = { type: 'image', source: { type: 'url', url: at('/a.png') } };
    const inline = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.toString('base64') } };
    const body = (part: object) => ({
      messages: [{ role: 'user', content: [part, { type: 'tool_result', content: [part] }] }],
    });
    expect(await rewritten('inlineImageUrls', {}, request(body(block)))).toEqual(body(inline));
  });

  it.each([
    ['is inline already', chat({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } })],
    ['is a file of the provider', chat({ type: 'image_url', image_url: { url: 'gs://bucket/a.png' } })],
    ['is no image', chat({ type: 'text', text: 'https://x.example/a.png' })],
    ['is a base64 block', chat({ type: 'image', source: { type: 'base64', data: 'AAAA' } })],
  ])('stays where it %s', async (_what, body) => {
    const means = testMeans();
    expect(await find('inlineImageUrls', {}, request(body), means)).toEqual({ verdict: true, data: { images: 0 } });
    expect(means.downloads).toEqual([]);
  });

  it.each([
    ['is missing', '/missing', /status 404/],
    ['has moved', '/moved', /status 302/],
    ['is none', '/text', /no PNG/],
  ])('that %s is an error', async (_what, path, words) => {
    await expect(find('inlineImageUrls', {}, request(chat(image(path))))).rejects.toThrow(words);
  });

  it('that no host serves is an error that does not name it', async () => {
    const means = testMeans({ download: () => Promise.reject(new Error('10.0.0.1 is private')) });
    await expect(find('inlineImageUrls', {}, request(chat(image('/a.png'))), means)).rejects.toThrow(
      'An image could not be fetched.',
    );
    await expect(
      find('inlineImageUrls', {}, request(chat({ type: 'image_url', image_url: { url: 'http://[' } }))),
    ).rejects.toThrow(/no URL/);
  });

  it('may not be larger than maxSizeBytes, all together', async () => {
    const one = PNG.byteLength;
    await expect(find('inlineImageUrls', { maxSizeBytes: one - 1 }, request(chat(image('/a.png'))))).rejects.toThrow(
      /maxSizeBytes/,
    );
    await expect(
      find('inlineImageUrls', { maxSizeBytes: one * 2 - 1 }, request(chat(image('/a.png'), image('/a.png')))),
    ).rejects.toThrow(/maxSizeBytes/);
    expect((await find('inlineImageUrls', { maxSizeBytes: one }, request(chat(image('/a.png'))))).data).toEqual({
      images: 1,
      bytes: one,
    });
  });

  it('is one of 20 at most', async () => {
    const means = testMeans();
    const body = chat(...Array.from({ length: 21 }, () => image('/a.png')));
    await expect(find('inlineImageUrls', {}, request(body), means)).rejects.toThrow(/21 image URLs/);
    expect(means.downloads).toEqual([]);
  });

  test.each([
    ['anthropic', true],
    ['openai', false],
    [undefined, false],
  ])('is fetched for listed providers alone: %s', async (provider, fetched) => {
    const subject = request(chat(image('/a.png')), provider === undefined ? {} : { provider });
    const { rewrites = [] } = await find('inlineImageUrls', { providers: ['anthropic'] }, subject);
    expect(rewrites.length > 0).toBe(fetched);
  });

  it('lets the request pass where it cannot be had, unless told otherwise', () => {
    expect(checkOf('inlineImageUrls', {}).failOnError).toBe(false);
    expect(checkOf('inlineImageUrls', { failOnError: true }).failOnError).toBe(true);
  });
});

describe('the type of an image', () => {
  test.each<[what: string, bytes: Buffer, type: string | undefined]>([
    ['PNG', PNG, 'image/png'],
    ['JPEG', JPEG, 'image/jpeg'],
    ['GIF', Buffer.from('GIF89a....'), 'image/gif'],
    ['old GIF', Buffer.from('GIF87a....'), 'image/gif'],
    ['WebP', Buffer.from('RIFF\0\0\0\0WEBPVP8 '), 'image/webp'],
    ['SVG', Buffer.from('<svg xmlns='), undefined],
    ['HTML', Buffer.from('<!doctype html>'), undefined],
    ['nothing', Buffer.alloc(0), undefined],
    ['the start of a PNG', PNG.subarray(0, 4), undefined],
  ])('%s', (_what, bytes, type) => {
    expect(imageTypeOf(bytes)).toBe(type);
  });

  it('is read from bytes, whatever the server says', async () => {
    server.answer(text(200, 'GIF89a', { 'content-type': 'image/png' }));
    const body = await rewritten('inlineImageUrls', {}, request(chat(image('/x'))));
    expect(JSON.stringify(body)).toContain('data:image/gif;base64,');
  });
});
