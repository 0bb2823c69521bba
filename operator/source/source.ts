/** Where manifests come from: a directory, or an API server. */
import type { Observation } from '../world.ts';

/** A Secret that the program wants to exist. */
export interface GeneratedSecret {
  readonly namespace: string;
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
  /** Identity of the object that it was made for. */
  readonly owner: string;
}

export interface Source {
  /** What is known now. Complete from the start: a source is opened only after its first full read. */
  observe(): Observation;
  /** Calls back after each change of `observe()`. */
  onChange(listener: () => void): void;
  /** Stores the Secret; once it resolves, `observe()` contains it. Rejects rather than replace a Secret that exists. */
  writeSecret(secret: GeneratedSecret): Promise<void>;
  close(): Promise<void>;
}
