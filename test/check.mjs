// Types, lint and formatting, and that the generated files are current. Exit status 1 names what is not.
import { spawnSync } from 'node:child_process';

const steps = [
  ['types', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']],
  ['lint and format', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']],
  ['generated files', ['crds/generate/main.ts', '--check']],
];

const failed = steps.filter(([name, args]) => {
  const ok = spawnSync(process.execPath, args, { stdio: 'inherit' }).status === 0;
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`);
  return !ok;
});
process.exit(failed.length === 0 ? 0 : 1);
