/** Text of a manifest file -> its documents with their lines. */
import { LineCounter, parseAllDocuments } from 'yaml';

export interface ParsedDocument {
  readonly value: unknown;
  /** 1-based line at which it begins. */
  readonly line: number;
}

/** All documents, or the first thing that is wrong: a file is taken whole or not at all. */
export type ParsedFile =
  | { readonly documents: readonly ParsedDocument[] }
  | { readonly line: number; readonly message: string };

/** Parses `.json` as JSON and anything else as YAML 1.2 with `<<` merges. `kind: List` is unfolded. Never throws. */
export function parseFile(path: string, text: string): ParsedFile {
  const parsed = path.endsWith('.json') ? parseJson(text) : parseYaml(text);
  return 'documents' in parsed ? { documents: parsed.documents.flatMap(unfold) } : parsed;
}

function parseJson(text: string): ParsedFile {
  if (text.trim() === '') return { documents: [] };
  try {
    return { documents: [{ value: JSON.parse(text.replace(/^\uFEFF/, '')), line: 1 }] };
  } catch (error) {
    const message = (error as Error).message;
    const offset = Number(/position (\d+)/.exec(message)?.[1] ?? text.length);
    return { line: text.slice(0, offset).split('\n').length, message };
  }
}

function parseYaml(text: string): ParsedFile {
  const lineCounter = new LineCounter();
  try {
    const documents = parseAllDocuments(text, { lineCounter, merge: true, prettyErrors: false });
    if (!Array.isArray(documents)) return { documents: [] };
    const broken = documents.find((document) => document.errors.length > 0)?.errors[0];
    if (broken !== undefined)
      return { line: lineCounter.linePos(broken.pos[0]).line, message: firstLine(broken.message) };
    const parsed = documents.map((document) => ({
      value: document.toJS({ maxAliasCount: 100 }) as unknown,
      line: Math.max(1, lineCounter.linePos(document.contents?.range?.[0] ?? 0).line),
    }));
    // Nothing between two markers is no document, but not an error either.
    return { documents: parsed.filter(({ value }) => value !== null && value !== undefined) };
  } catch (error) {
    return {
      line: 1,
      message: error instanceof RangeError ? 'it is nested too deeply' : firstLine((error as Error).message),
    };
  }
}

function unfold(document: ParsedDocument): readonly ParsedDocument[] {
  const { value, line } = document;
  if (typeof value !== 'object' || value === null) return [document];
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  return kind === 'List' && Array.isArray(items) ? items.map((item) => ({ value: item, line })) : [document];
}

function firstLine(message: string): string {
  return message.split('\n')[0] ?? message;
}
