/** Where manifests come from: a directory, or an API server. */
import type { Manifest, Observation, SecretObject } from '../world.ts';

/** A Secret that the program wants to exist. */
export interface GeneratedSecret {
  readonly namespace: string;
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
  /** Identity of the object that it was made for. */
  readonly owner: string;
}

/** An object of ours that the program wants to exist, and that goes with its owner. */
export interface GeneratedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Identity of the object that it was made for. */
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Source {
  /** What is known now. Complete from the start: a source is opened only after its first full read. */
  observe(): Observation;
  /** Calls back after each change of `observe()`. */
  onChange(listener: () => void): void;
  /** Stores the Secret; once it resolves, `observe()` contains it. Rejects rather than replace a Secret that exists. */
  writeSecret(secret: GeneratedSecret): Promise<void>;
  /**
   * Sets fields of a Secret that this program made; undefined takes one away. Rejects, and changes nothing, where what is stored
   * is not `secret` any more, as `observe()` told of it.
   */
  changeSecret(secret: SecretObject, changes: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Stores the object. Rejects rather than replace one that exists: `observe()` may know of it a moment later. */
  writeObject(object: GeneratedObject): Promise<void>;
  /** Sets annotations of an object that this program wrote. */
  annotate(object: Manifest, annotations: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}
