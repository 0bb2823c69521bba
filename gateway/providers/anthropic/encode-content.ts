/** Content of a chat message -> content blocks. */
import { isJson, refuse, requireObject, requireText } from '../../dialects/json-shape.ts';
import type { Json } from '../provider.ts';

type PartEncoder = (part: Json, path: string) => Json | undefined;

const PARTS: Readonly<Record<string, PartEncoder>> = {
  text: (part, path) => textBlock(requireText(part.text, `${path}.text`), part),
  refusal: (part, path) => textBlock(requireText(part.refusal, `${path}.refusal`), part),
  image_url: (part, path) =>
    withCacheControl({ type: 'image', source: imageSource(part.image_url, `${path}.image_url`) }, part),
  file: (part, path) => withCacheControl(documentBlock(requireObject(part.file, `${path}.file`), `${path}.file`), part),
  input_audio: (_part, path) => refuse(path, 'is audio, which this provider does not take'),
  // The provider's own blocks, for callers who know whom they talk to.
  image: (part) => part,
  document: (part) => part,
  search_result: (part) => part,
  thinking: (part) => part,
  redacted_thinking: (part) => part,
};

/** A string, a list of parts, or nothing. Empty texts are left out: the provider refuses them. */
export function encodeContent(content: unknown, path: string): Json[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return refuse(path, 'must be a string or an array of content parts');
  const blocks: Json[] = [];
  for (const [index, item] of content.entries()) {
    const at = `${path}[${index}]`;
    const part = requireObject(item, at);
    const type = requireText(part.type, `${at}.type`);
    const encode = Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
    if (encode === undefined) return refuse(`${at}.type`, 'must be text, image_url, file or refusal');
    const block = encode(part, at);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

function textBlock(text: string, part: Json): Json | undefined {
  return text === '' ? undefined : withCacheControl({ type: 'text', text }, part);
}

export function withCacheControl(block: Json, from: Json): Json {
  return isJson(from.cache_control) ? { ...block, cache_control: from.cache_control } : block;
}

function imageSource(image: unknown, path: string): Json {
  const isShort = typeof image === 'string';
  const at = isShort ? path : `${path}.url`;
  const url = requireText(isShort ? image : requireObject(image, path).url, at);
  if (isWebUrl(url)) return { type: 'url', url };
  const { mediaType, data } = dataUrl(url, at);
  return { type: 'base64', media_type: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data };
}

function documentBlock(file: Json, path: string): Json {
  const title = typeof file.filename === 'string' ? { title: file.filename } : {};
  return { type: 'document', source: documentSource(file, path), ...title };
}

function documentSource(file: Json, path: string): Json {
  if (typeof file.file_id === 'string') return { type: 'file', file_id: file.file_id };
  if (typeof file.file_url === 'string') return { type: 'url', url: file.file_url };
  const { mediaType, data } = dataUrl(requireText(file.file_data, `${path}.file_data`), `${path}.file_data`);
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data };
  if (mediaType === 'text/plain') return { type: 'text', media_type: mediaType, data: decodeText(data) };
  return refuse(`${path}.file_data`, 'must be a data: URL of type application/pdf or text/plain');
}

function decodeText(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/** Cuts by index: a pattern over megabytes of base64 would be slow. */
function dataUrl(url: string, path: string): { mediaType: string; data: string } {
  const comma = url.indexOf(',');
  const head = url.slice(0, Math.max(comma, 0)).toLowerCase();
  if (!head.startsWith('data:') || !head.endsWith(';base64')) {
    return refuse(path, 'must be an http(s) URL or a data: URL in base64');
  }
  const mediaType = head.slice('data:'.length).split(';', 1)[0] ?? '';
  return { mediaType, data: url.slice(comma + 1) };
}
