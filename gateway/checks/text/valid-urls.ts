import { z } from '#crds/config/words.ts';
import { CheckError, defineCheck, everyCheck, found, not } from '../check.ts';
import type { CheckMeans } from '../means.ts';
import { timeout } from '../parameters.ts';
import { looked } from '../scope.ts';

const URLS = /\bhttps?:\/\/[^\s<>"'`{}|\\^[\]]{1,2048}/gi;
/** What ends a sentence rather than a URL. */
const TAIL = /[.,;:!?)*_]+$/;
const MAX_URLS = 20;
/** An answer is an answer, however long. */
const ENOUGH_BYTES = 1024;

export const validUrls = defineCheck({
  id: 'default.validUrls',
  does: 'Passes where every URL of the last message leads somewhere public, or where there is none.',
  example: { onlyDNS: true },
  parameters: z.strictObject({
    onlyDNS: z.boolean().default(false).describe('Ask for the name alone, not for an answer below 400.'),
    timeout: timeout(5000),
    not: not.describe('Passes where no URL leads anywhere.'),
    ...everyCheck,
  }),
  timeoutMs: ({ timeout: timeoutMs }) => timeoutMs,
  compile({ onlyDNS, not: turned }, means) {
    const leads = onlyDNS ? hasName : answers;
    return (subject, signal) => {
      const urls = urlsOf(looked(subject, turned));
      if (urls.length === 0) return { verdict: true, data: { urls: 0 } };
      if (urls.length > MAX_URLS)
        throw new CheckError(`There are ${urls.length} URLs: this check follows at most ${MAX_URLS}.`);
      return Promise.all(urls.map((url) => leads(means, url, signal))).then((valid) => {
        const count = valid.filter(Boolean).length;
        const invalid = urls.filter((_, index) => !valid[index]).map((url) => url.host);
        const data = { urls: urls.length, valid: count, invalidHosts: invalid };
        return turned ? found(count > 0, true, data) : found(invalid.length === 0, false, data);
      });
    };
  },
});

function urlsOf(texts: readonly string[]): readonly URL[] {
  const urls = new Map<string, URL>();
  for (const text of texts) {
    for (const [match] of text.matchAll(URLS)) {
      const url = URL.parse(match.replace(TAIL, ''));
      if (url !== null) urls.set(url.href, url);
    }
  }
  return [...urls.values()];
}

function hasName(means: CheckMeans, url: URL, signal: AbortSignal): Promise<boolean> {
  return means.resolves(url, signal);
}

/** A host that refuses is no error of ours: the URL leads nowhere. */
async function answers(means: CheckMeans, url: URL, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await means.download({ url, maxBytes: ENOUGH_BYTES, signal });
    return status < 400;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
