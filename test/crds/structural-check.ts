/** What an API server does with a structural schema, as far as the CRDs use it: problems of a value, unknown fields included. */
type Schema = Record<string, unknown>;
type Check = (schema: Schema, value: unknown, path: string) => string[];

const FREE = 'x-kubernetes-preserve-unknown-fields';

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bounds(schema: Schema, size: number, low: string, high: string, path: string): string[] {
  const tooLow = typeof schema[low] === 'number' && size < schema[low];
  const tooHigh = typeof schema[high] === 'number' && size > schema[high];
  return tooLow || tooHigh ? [`${path} ${tooLow ? low : high}`] : [];
}

const checkString: Check = (schema, value, path) => {
  if (typeof value !== 'string') return [`${path} type`];
  const mismatch = typeof schema.pattern === 'string' && !new RegExp(schema.pattern, 'u').test(value);
  const unlisted = Array.isArray(schema.enum) && !schema.enum.includes(value);
  const badDate = schema.format === 'date-time' && Number.isNaN(Date.parse(value));
  return [
    ...bounds(schema, value.length, 'minLength', 'maxLength', path),
    ...(mismatch ? [`${path} pattern`] : []),
    ...(unlisted ? [`${path} enum`] : []),
    ...(badDate ? [`${path} format`] : []),
  ];
};

const checkNumber: Check = (schema, value, path) => {
  if (typeof value !== 'number') return [`${path} type`];
  if (schema.type === 'integer' && !Number.isInteger(value)) return [`${path} type`];
  return bounds(schema, value, 'minimum', 'maximum', path);
};

const checkObject: Check = (schema, value, path) => {
  if (!isObject(value)) return [`${path} type`];
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.filter((key) => value[key] === undefined).map((key) => `${path}.${key} required`);
  const inside = Object.entries(value).flatMap(([key, child]) => {
    const known = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
    if (isObject(known)) return structuralProblems(known, child, `${path}.${key}`);
    return schema[FREE] === true ? [] : [`${path}.${key} unknown`];
  });
  return [...missing, ...bounds(schema, Object.keys(value).length, 'minProperties', 'maxProperties', path), ...inside];
};

const checkArray: Check = (schema, value, path) => {
  if (!Array.isArray(value)) return [`${path} type`];
  const items = isObject(schema.items) ? schema.items : {};
  const inside = value.flatMap((item, index) => structuralProblems(items, item, `${path}[${index}]`));
  return [...bounds(schema, value.length, 'minItems', 'maxItems', path), ...inside];
};

const CHECKS: Readonly<Record<string, Check>> = {
  string: checkString,
  number: checkNumber,
  integer: checkNumber,
  boolean: (_schema, value, path) => (typeof value === 'boolean' ? [] : [`${path} type`]),
  object: checkObject,
  array: checkArray,
};

/** Problems as `<path> <keyword>`; an untyped schema that preserves unknown fields takes everything. */
export function structuralProblems(schema: Schema, value: unknown, path: string): string[] {
  if (value === null && schema.nullable === true) return [];
  const check = CHECKS[String(schema.type)];
  if (check !== undefined) return check(schema, value, path);
  return schema[FREE] === true ? [] : [`${path} has no type`];
}
