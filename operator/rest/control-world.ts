/** What the control plane looks at besides the objects that it keeps: what the operator last compiled and read. */
import type { Snapshot } from '#crds/snapshot/contract.ts';
import { KEY_FIELD } from '../compile/api-key.ts';
import { conditionOf } from '../compile/status.ts';
import type { KeyRotation } from '../keys/key-rotation.ts';
import type { KeyState } from '../keys/key-state.ts';
import type { Pass } from '../loop.ts';
import type { Observation } from '../world.ts';
import { idOf, isUuid } from './object-id.ts';
import type { ObjectStore, StoredObject } from './stored-object.ts';

export interface ControlWorldOptions {
  readonly objects: ObjectStore;
  readonly organisationNamespace: string;
  /** No key is asked for. */
  readonly open: boolean;
  /** undefined: there was none yet. */
  readonly pass: () => Pass | undefined;
  readonly observe: () => Observation;
  readonly rotateNow: KeyRotation['rotateNow'];
}

export class ControlWorld {
  readonly objects: ObjectStore;
  readonly open: boolean;
  readonly organisationNamespace: string;
  readonly rotateNow: KeyRotation['rotateNow'];
  /** A UUID. */
  readonly organisationId: string;
  readonly #options: ControlWorldOptions;

  constructor(options: ControlWorldOptions) {
    this.objects = options.objects;
    this.open = options.open;
    this.organisationNamespace = options.organisationNamespace;
    this.rotateNow = options.rotateNow;
    this.organisationId = idOf(`Organisation ${options.organisationNamespace}`);
    this.#options = options;
  }

  /** undefined: nothing was compiled yet. */
  get snapshot(): Snapshot | undefined {
    return this.#options.pass()?.snapshot;
  }

  /** Why the object was refused when it was compiled last; undefined: it was not, or not yet. */
  refusalOf({ kind, namespace, name }: StoredObject): string | undefined {
    const status = this.#options
      .pass()
      ?.statuses.find((one) => one.name === name && one.namespace === namespace && one.kind === kind);
    const accepted = status && conditionOf(status, 'Accepted');
    return accepted?.status === 'False' ? accepted.message : undefined;
  }

  /** Plaintext of the key in a Secret that this program made; undefined: there is none, or not yet. */
  issuedKey(namespace: string, secretName: string): string | undefined {
    return this.#options
      .observe()
      .secrets.find((one) => one.generated && one.name === secretName && one.namespace === namespace)
      ?.values.get(KEY_FIELD);
  }

  /** How far the rotation of a key is; undefined: it was not made here. */
  keyState(namespace: string, name: string): KeyState | undefined {
    return this.#options.pass()?.issued.find((key) => key.name === name && key.namespace === namespace)?.state;
  }

  /** Name of a workspace, which may be given by the id of its Workspace. */
  workspaceName(nameOrId: string): string {
    if (!isUuid(nameOrId)) return nameOrId;
    const named = this.#options
      .observe()
      .manifests.find(
        ({ kind, namespace, name, uid }) =>
          kind === 'Workspace' && (uid ?? idOf(`Workspace ${namespace}/${name}`)) === nameOrId,
      );
    return named?.name ?? nameOrId;
  }
}
