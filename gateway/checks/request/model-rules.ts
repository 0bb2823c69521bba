import { z } from '#crds/config/words.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { words } from '../parameters.ts';
import { modelTest } from './model-pattern.ts';

const models = words('Models as callers name them; "*" at the end stands for anything.');
const byValue = z.record(z.string().min(1).max(128), models).describe('Value of the metadata -> models.');

export const modelRules = defineCheck({
  id: 'default.modelRules',
  does: 'Passes where the model is one of those that the metadata of the request allow; the defaults hold where no rule applies.',
  example: { rules: { defaults: ['gpt-4o-mini'], metadata: { tier: { gold: ['gpt-4o', 'gpt-4o-mini'] } } } },
  parameters: z.strictObject({
    rules: z
      .strictObject({
        defaults: models.optional(),
        metadata: z
          .record(z.string().min(1).max(128), byValue)
          .default({})
          .describe('Key of the metadata -> its rules.'),
      })
      .describe('Which models are allowed: the union of all rules that apply.'),
    not,
    ...everyCheck,
  }),
  compile({ rules, not: turned }) {
    const compiled = Object.entries(rules.metadata).map(([key, values]) => {
      const tests = Object.entries(values).map(([value, listed]) => [value, modelTest(listed)] as const);
      return { key, tests: new Map(tests) };
    });
    const isDefault = modelTest(rules.defaults ?? []);
    return ({ model, metadata }) => {
      if (model === undefined) return { verdict: false, data: { model: null } };
      const applying = compiled.flatMap(({ key, tests }) => {
        const test = Object.hasOwn(metadata, key) ? tests.get(metadata[key] ?? '') : undefined;
        return test === undefined ? [] : [{ key, test }];
      });
      const allowed = applying.length === 0 ? isDefault(model) : applying.some(({ test }) => test(model));
      return found(allowed, turned, {
        model,
        rules: applying.length === 0 ? ['defaults'] : applying.map(({ key }) => key),
      });
    };
  },
});
