/** What accounts asked an API server for, by its audit log. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { at } from './manifest.ts';
import type { Rule } from './rights.ts';

export interface Asked {
  /** `<verb> <resource>[.<group>][/<subresource>]`. */
  readonly right: string;
  /** HTTP status of the answer. */
  readonly code: number;
  readonly path: string;
}

/** Of a control plane with `audit: true`; `folder` is its own. What is no resource, such as /version, is left out. */
export function askedBy(folder: string, namespace: string, account: string): readonly Asked[] {
  const user = `system:serviceaccount:${namespace}:${account}`;
  return readFileSync(join(folder, 'audit.log'), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
    .filter((event) => at(event, 'user.username') === user && event.objectRef !== undefined)
    .map((event) => ({
      right: rightOf(event.verb, event.objectRef),
      code: at<number>(event, 'responseStatus.code') ?? 0,
      path: event.requestURI,
    }));
}

interface ObjectRef {
  readonly resource: string;
  readonly apiGroup?: string;
  readonly subresource?: string;
}

function rightOf(verb: string, { resource, apiGroup = '', subresource }: ObjectRef): string {
  const kind = apiGroup === '' ? resource : `${resource}.${apiGroup}`;
  return `${verb} ${kind}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** The same, as rules grant it. */
export function rightsIn(rules: readonly Rule[]): ReadonlySet<string> {
  return new Set(
    rules.flatMap(({ verbs, apiGroups, resources }) =>
      verbs.flatMap((verb) =>
        apiGroups.flatMap((apiGroup) =>
          resources.map((full) => {
            const [resource = '', subresource] = full.split('/');
            return rightOf(verb, { resource, apiGroup, ...(subresource !== undefined && { subresource }) });
          }),
        ),
      ),
    ),
  );
}
