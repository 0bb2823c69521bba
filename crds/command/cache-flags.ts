/** Flags of programs that keep answers. */
import { embeddingModel } from './embedding-model.ts';
import { byteCount, one, optional, text } from './flag-kinds.ts';

export const EMBEDDING_FLAGS = {
  'embedding-model': optional(
    'MODEL',
    'who says what means the same, for caches of mode semantic: @slug/model of an Integration of the organisation namespace',
    'none: semantic is simple',
    embeddingModel,
  ),
};

export const CACHE_FLAGS = {
  'cache-bytes': one('BYTES', 'how much the cache may keep in memory, e.g. 64Mi', '64Mi', byteCount),
  'cache-key-file': optional(
    'FILE',
    'keys that cached answers are encrypted with, one a line: 32 bytes as hex or base64; the first seals; read once',
    'none',
    text,
  ),
  ...EMBEDDING_FLAGS,
};
