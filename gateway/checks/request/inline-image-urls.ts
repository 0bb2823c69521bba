import { z } from '#crds/config/words.ts';
import { CheckError, defineCheck, failOnError } from '../check.ts';
import type { CheckMeans } from '../means.ts';
import { words } from '../parameters.ts';
import type { Rewrite } from '../rewrite.ts';
import { type ImagePlace, readImages } from './image-places.ts';
import { imageTypeOf } from './image-type.ts';

const MAX_IMAGES = 20;
const DEFAULT_BYTES = 20 * 1024 * 1024;

export const inlineImageUrls = defineCheck({
  id: 'default.inlineImageUrls',
  does: 'Fetches images that a request names by URL and puts them into it, for providers that fetch none.',
  example: { maxSizeBytes: 5_242_880, timeoutMs: 10_000 },
  sides: 'request',
  mutates: () => true,
  failOnError: false,
  parameters: z.strictObject({
    providers: words('Providers for which it is done; all where nothing is said.').optional(),
    maxSizeBytes: z
      .int()
      .min(1)
      .max(DEFAULT_BYTES)
      .default(DEFAULT_BYTES)
      .describe('The most bytes of all images together.'),
    timeoutMs: z.int().min(1).max(60_000).default(30_000).describe('How long the fetching may take, in milliseconds.'),
    failOnError: failOnError(false),
  }),
  timeoutMs: ({ timeoutMs }) => timeoutMs,
  compile({ providers, maxSizeBytes }, means) {
    const meant = providers && new Set(providers);
    return ({ body, provider }, signal) => {
      if (meant !== undefined && (provider === undefined || !meant.has(provider)))
        return { verdict: true, data: { images: 0, explanation: 'The provider is none of those listed.' } };
      const images = readImages(body);
      if (images.length > MAX_IMAGES)
        throw new CheckError(`There are ${images.length} image URLs: this check fetches at most ${MAX_IMAGES}.`);
      if (images.length === 0) return { verdict: true, data: { images: 0 } };
      return inlined(means, images, maxSizeBytes, signal);
    };
  },
});

/** One after the other: together they are bounded. */
async function inlined(means: CheckMeans, images: readonly ImagePlace[], maxBytes: number, signal: AbortSignal) {
  const rewrites: Rewrite[] = [];
  let left = maxBytes;
  for (const image of images) {
    const bytes = await fetchImage(means, image.url, left, signal);
    left -= bytes.byteLength;
    const mediaType = imageTypeOf(bytes);
    if (mediaType === undefined) throw new CheckError('What an image URL leads to is no PNG, JPEG, GIF or WebP image.');
    rewrites.push({ path: image.path, value: image.inline(mediaType, Buffer.from(bytes).toString('base64')) });
  }
  return { verdict: true, data: { images: images.length, bytes: maxBytes - left }, rewrites };
}

async function fetchImage(
  means: CheckMeans,
  given: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const url = URL.parse(given);
  if (url === null) throw new CheckError('An image URL is no URL.');
  const answer = await means.download({ url, maxBytes, signal }).catch((error: unknown) => {
    throw new CheckError('An image could not be fetched.', undefined, error);
  });
  if (answer.status !== 200) throw new CheckError(`An image URL answers with status ${answer.status}.`);
  if (!answer.complete) throw new CheckError('The images are larger than maxSizeBytes.');
  return answer.bytes;
}
