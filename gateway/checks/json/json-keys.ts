import { z } from '#crds/config/words.ts';
import { isJson } from '../../dialects/json-shape.ts';
import { defineCheck, everyCheck, found, not } from '../check.ts';
import { words } from '../parameters.ts';
import { allAnyNone, holdsFor } from '../quantity.ts';
import { looked } from '../scope.ts';
import { findJson } from './find-json.ts';

export const jsonKeys = defineCheck({
  id: 'default.jsonKeys',
  does: 'Passes where the last message is or holds a JSON object that has any, all or none of the keys.',
  example: { keys: ['answer'], operator: 'all' },
  parameters: z.strictObject({
    keys: words('Keys of the object itself, not of what it holds.'),
    operator: allAnyNone.default('all').describe('How many of them it must have.'),
    not,
    ...everyCheck,
  }),
  compile({ keys, operator, not: turned }) {
    return (subject) => {
      const objects = findJson(looked(subject, false)[0] ?? '').filter(isJson);
      const passes = (object: object) =>
        holdsFor(operator, keys.filter((key) => Object.hasOwn(object, key)).length, keys.length);
      const meant = objects.find(passes) ?? objects[0] ?? {};
      return found(objects.some(passes), turned, {
        operator,
        objects: objects.length,
        present: keys.filter((key) => Object.hasOwn(meant, key)),
        missing: keys.filter((key) => !Object.hasOwn(meant, key)),
      });
    };
  },
});
