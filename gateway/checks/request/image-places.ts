/** Where the bodies of requests name images by URL. */
import { isJson } from '../../dialects/json-shape.ts';
import type { Json } from '../../providers/provider.ts';
import type { Path } from '../rewrite.ts';

export interface ImagePlace {
  readonly url: string;
  readonly path: Path;
  /** What stands at the path instead. */
  inline(mediaType: string, base64: string): unknown;
}

const REMOTE = /^https?:\/\//i;
const CARRIERS = ['messages', 'input', 'content', 'output', 'system'] as const;

/** In the body's order, each place once: OpenAI's `image_url` (object or text) and Anthropic's `source: {type: url}`. */
export function readImages(body: Json): readonly ImagePlace[] {
  const places: ImagePlace[] = [];
  collect(body, [], places);
  return places;
}

function collect(node: unknown, path: Path, places: ImagePlace[]): void {
  if (Array.isArray(node)) {
    node.forEach((item, index) => {
      collect(item, [...path, index], places);
    });
  } else if (isJson(node)) {
    const place = imageOf(node, path);
    if (place !== undefined) places.push(place);
    for (const name of CARRIERS) if (Object.hasOwn(node, name)) collect(node[name], [...path, name], places);
  }
}

function imageOf({ type, image_url: image, source }: Json, path: Path): ImagePlace | undefined {
  if (type === 'image' && isJson(source) && source.type === 'url' && isRemote(source.url)) {
    const inline = (mediaType: string, data: string) => ({ type: 'base64', media_type: mediaType, data });
    return { url: source.url, path: [...path, 'source'], inline };
  }
  if (isRemote(image)) return { url: image, path: [...path, 'image_url'], inline: dataUrl };
  if (isJson(image) && isRemote(image.url))
    return { url: image.url, path: [...path, 'image_url', 'url'], inline: dataUrl };
  return undefined;
}

function isRemote(value: unknown): value is string {
  return typeof value === 'string' && REMOTE.test(value);
}

function dataUrl(mediaType: string, base64: string): string {
  return `data:${mediaType};base64,${base64}`;
}
