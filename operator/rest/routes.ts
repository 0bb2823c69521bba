/** The table of resources, as methods and paths. */
import { createObject, listObjects, readObject, removeObject, replaceObject } from './operations.ts';
import type { Call, Operation } from './resource-row.ts';
import { RESOURCES } from './resources/resources.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Route {
  readonly method: Method;
  /** Without `/v1`; `:name` stands for one part. */
  readonly path: string;
  readonly run: (call: Call) => Promise<object>;
}

export const ROUTES: readonly Route[] = RESOURCES.flatMap((row) => {
  const { path, createPath, actions, operations = {} } = row;
  const route = (method: Method, below: string, run: Operation): Route => ({
    method,
    path: path + below,
    run: (call) => run(row, call),
  });
  return [
    route('GET', '', operations.list ?? listObjects),
    route('POST', createPath, operations.create ?? createObject),
    route('GET', '/:id', operations.read ?? readObject),
    route('PUT', '/:id', operations.replace ?? replaceObject),
    route('DELETE', '/:id', operations.remove ?? removeObject),
    ...actions.map((action) => route(action.method, action.path, action.run)),
  ];
});

const PATTERNS = ROUTES.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^(?:/v1)?${path.replace(/:\w+/g, '[^/]+')}$`),
}));

/** Methods that a path takes; none: there is nothing. */
export function allowedAt(path: string): readonly string[] {
  return [...new Set(PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))];
}
