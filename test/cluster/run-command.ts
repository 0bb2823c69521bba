/** Runs a program to its end. */
import { spawn } from 'node:child_process';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** What it reads on its standard input. Default: nothing. */
  readonly input?: string | undefined;
}

/** `message` begins with the command and its exit status, and ends with all that it wrote on its standard error. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  /** null: it was ended by a signal. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor({ file, args }: Command, status: number | null, stdout: string, stderr: string) {
    super(`${[file.split('/').at(-1), ...args].join(' ')}: exit status ${status}\n${stderr || stdout}`);
    this.status = status;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

/** Resolves to its standard output. Rejects with CommandFailed unless its exit status is 0. */
export function runCommand(command: Command): Promise<string> {
  const { file, args, env, cwd, input } = command;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env, ...(cwd !== undefined && { cwd }), stdio: 'pipe' });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(stdout);
      else reject(new CommandFailed(command, status, stdout, stderr));
    });
    // A program that does not read its input closes it, which is no failure.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input ?? '');
  });
}
