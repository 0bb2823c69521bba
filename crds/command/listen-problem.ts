/** Why a command cannot listen, in one line that says what to do. */
import { environmentName } from './parse-flags.ts';

/** What an error of a listener tells: a system error, with the address that was asked for. */
export interface ListenError extends Error {
  readonly code?: string;
  readonly port?: number;
  readonly address?: string;
}

export interface ListenFlag {
  /** Of the port, e.g. `admin-port`. */
  readonly portFlag: string;
  readonly hostFlag: string;
  readonly host: string;
  readonly port: number;
}

/** `listeners`: all of the command; the error is of the one that has its address or its port, else of the first. */
export function listenProblem(error: ListenError, listeners: readonly [ListenFlag, ...ListenFlag[]]): string {
  const { code, port, message } = error;
  const listener = listenerOf(error, listeners);
  const { portFlag, hostFlag, host } = listener;
  const address = `${host}:${port ?? listener.port}`;
  const choose = `choose another with --${portFlag} or ${environmentName(portFlag)}`;
  const words: Readonly<Record<string, string>> = {
    EADDRINUSE: `${address} is in use: end the program that has it, or ${choose}`,
    EACCES: `${address} may not be used by this user: ${choose}`,
    EADDRNOTAVAIL: `--${hostFlag}: ${host} is no address of this machine`,
    ENOTFOUND: `--${hostFlag}: ${host} cannot be resolved`,
  };
  return words[code ?? ''] ?? `cannot listen on ${address}: ${message}`;
}

function listenerOf({ address, port }: ListenError, listeners: readonly [ListenFlag, ...ListenFlag[]]): ListenFlag {
  const candidates = listeners.filter((each) => port === undefined || each.port === port);
  return candidates.find(({ host }) => host === address) ?? candidates[0] ?? listeners[0];
}
