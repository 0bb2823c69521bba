/** The four lists of guardrails and hooks of a config, in one form. */
import type { z } from 'zod';
import type { feedbackSchema } from './guardrails.ts';

export const INPUT_LISTS = ['before_request_hooks', 'input_guardrails'] as const;
export const OUTPUT_LISTS = ['after_request_hooks', 'output_guardrails'] as const;
export type GuardList = (typeof INPUT_LISTS)[number] | (typeof OUTPUT_LISTS)[number];
/** What a config has besides, here of no interest. */
export type GuardedConfig = { readonly [List in GuardList]?: readonly unknown[] | undefined };

export type Feedback = z.infer<typeof feedbackSchema>;

export interface ItemCheck {
  readonly id: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** From the config, where the id is named and where the parameters stand. */
  readonly idPath: readonly (string | number)[];
  readonly parametersPath: readonly (string | number)[];
}

/** One item of a list. Actions that are undefined are left to the guardrail that it names. */
export interface GuardItem {
  /** From the config, e.g. `['input_guardrails', 0]`. */
  readonly path: readonly (string | number)[];
  readonly id: string | undefined;
  /** undefined: `id` is the name of a guardrail. */
  readonly checks: readonly ItemCheck[] | undefined;
  readonly type: 'guardrail' | 'mutator' | undefined;
  readonly deny: boolean | undefined;
  readonly async: boolean | undefined;
  readonly onFail: Feedback | undefined;
  readonly onSuccess: Feedback | undefined;
}

interface Action {
  readonly feedback?: Feedback;
  readonly deny?: boolean;
}

/** A hook, or a guardrail item, whose further keys are checks. */
interface WrittenItem {
  readonly id?: string;
  readonly type?: 'guardrail' | 'mutator';
  readonly deny?: boolean;
  readonly async?: boolean;
  readonly on_fail?: Action;
  readonly on_success?: Action;
  readonly checks?: readonly { readonly id: string; readonly parameters: Readonly<Record<string, unknown>> }[];
}

const SETTINGS: ReadonlySet<string> = new Set(['id', 'deny', 'async', 'on_fail', 'on_success']);

/** Items of one list; undefined: the config does not say it. The config has the form of its schema. */
export function guardItems(config: GuardedConfig, list: GuardList): readonly GuardItem[] | undefined {
  const isHooks = list.endsWith('hooks');
  return config[list]?.map((written, index) => itemOf(written, [list, index], isHooks));
}

function itemOf(written: unknown, path: readonly (string | number)[], isHook: boolean): GuardItem {
  const item: WrittenItem = typeof written === 'string' ? { id: written } : (written as WrittenItem);
  const checks = isHook ? hookChecks(item, path) : inlineChecks(item, path);
  return {
    path,
    id: item.id,
    checks,
    type: item.type,
    deny: item.deny ?? item.on_fail?.deny,
    async: item.async,
    onFail: item.on_fail?.feedback,
    onSuccess: item.on_success?.feedback,
  };
}

function hookChecks({ checks }: WrittenItem, path: readonly (string | number)[]): readonly ItemCheck[] | undefined {
  return checks?.map(({ id, parameters }, index) => {
    const place = [...path, 'checks', index];
    return { id, parameters, idPath: [...place, 'id'], parametersPath: [...place, 'parameters'] };
  });
}

function inlineChecks(item: WrittenItem, path: readonly (string | number)[]): readonly ItemCheck[] | undefined {
  const ids = Object.keys(item).filter((key) => !SETTINGS.has(key));
  if (ids.length === 0) return undefined;
  return ids.map((id) => {
    const parameters = (item as Readonly<Record<string, Record<string, unknown>>>)[id] ?? {};
    return { id, parameters, idPath: [...path, id], parametersPath: [...path, id] };
  });
}
