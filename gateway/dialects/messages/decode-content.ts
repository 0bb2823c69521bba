/** Content blocks of a request -> parts of a chat message. */
import type { Json } from '../../providers/provider.ts';
import { isJson, refuse, requireList, requireObject, requireText } from '../json-shape.ts';

type BlockDecoder = (block: Json, path: string) => Json[];

const BLOCKS: Readonly<Record<string, BlockDecoder>> = {
  text: (block, path) => [{ type: 'text', text: requireText(block.text, `${path}.text`) }],
  image: (block, path) => [{ type: 'image_url', image_url: { url: imageUrl(block.source, `${path}.source`) } }],
  document: (block, path) => documentParts(block, `${path}.source`),
  search_result: (block, path) => requireList(block.content, `${path}.content`).flatMap(decodeInner(`${path}.content`)),
};
const SAYABLE = `must be ${Object.keys(BLOCKS).join(', ')}`;

/** A string, or blocks; `others` says what else may stand here. */
export function decodeBlock(block: Json, path: string, others = ''): Json[] {
  const type = requireText(block.type, `${path}.type`);
  const decode = Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
  if (decode === undefined) return refuse(`${path}.type`, `${SAYABLE}${others}`);
  const parts = decode(block, path);
  const [only] = parts;
  const keepsCache = isJson(block.cache_control) && parts.length === 1 && only !== undefined;
  return keepsCache ? [{ ...only, cache_control: block.cache_control }] : parts;
}

/** Content that may be a string or a list of blocks, e.g. of a tool result. */
export function decodeContent(content: unknown, path: string): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return requireList(content, path).flatMap(decodeInner(path));
}

/** One bare text becomes a string, which every server understands. */
export function plainestContent(parts: readonly Json[]): unknown {
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && first.type === 'text' && first.cache_control === undefined ? first.text : parts;
}

function decodeInner(path: string): (value: unknown, index: number) => Json[] {
  return (value, index) => decodeBlock(requireObject(value, `${path}[${index}]`), `${path}[${index}]`);
}

function imageUrl(value: unknown, path: string): string {
  const source = requireObject(value, path);
  if (source.type === 'url') return requireText(source.url, `${path}.url`);
  return source.type === 'base64' ? dataUrl(source, path) : refuse(`${path}.type`, 'must be base64 or url');
}

function dataUrl(source: Json, path: string): string {
  const mediaType = requireText(source.media_type, `${path}.media_type`);
  return `data:${mediaType};base64,${requireText(source.data, `${path}.data`)}`;
}

const SOURCES: Readonly<Record<string, (source: Json, path: string, title: string | undefined) => Json[]>> = {
  base64: (source, path, title) => [filePart({ file_data: dataUrl(source, path) }, title ?? 'document.pdf')],
  url: (source, path, title) => [filePart({ file_url: requireText(source.url, `${path}.url`) }, title)],
  file: (source, path, title) => [filePart({ file_id: requireText(source.file_id, `${path}.file_id`) }, title)],
  text: (source, path, title) => titled(requireText(source.data, `${path}.data`), title),
  content: (source, path) => decodeContent(source.content, `${path}.content`),
};

function documentParts(block: Json, path: string): Json[] {
  const source = requireObject(block.source, path);
  const title = typeof block.title === 'string' ? block.title : undefined;
  const type = requireText(source.type, `${path}.type`);
  const decode = Object.hasOwn(SOURCES, type) ? SOURCES[type] : undefined;
  return decode?.(source, path, title) ?? refuse(`${path}.type`, `must be ${Object.keys(SOURCES).join(', ')}`);
}

function filePart(file: Json, filename: string | undefined): Json {
  return { type: 'file', file: filename === undefined ? file : { ...file, filename } };
}

function titled(text: string, title: string | undefined): Json[] {
  return [{ type: 'text', text: title === undefined ? text : `${title}\n\n${text}` }];
}
