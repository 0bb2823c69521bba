/** zod's JSON Schema, as the generators read it. */
import { z } from '../config/words.ts';

export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  /** What holds where the field is left out, though nothing fills it in. */
  readonly absent?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** What a user may write (the input side), without references. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
    cycles: 'throw',
  }) as JsonSchema;
}

/** An object of any keys: nothing is known of its values. */
export function isFreeObject(schema: JsonSchema): boolean {
  const values = schema.additionalProperties;
  return (
    schema.type === 'object' &&
    schema.properties === undefined &&
    typeof values === 'object' &&
    values.type === undefined &&
    values.anyOf === undefined
  );
}
