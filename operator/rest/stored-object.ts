/** Objects as the control plane keeps them, wherever that is. */
export type ControlKind =
  | 'RateLimitPolicy'
  | 'UsageLimitPolicy'
  | 'ApiKey'
  | 'Prompt'
  | 'PromptPartial'
  | 'PromptVersion'
  | 'PromptGroup';
export type Spec = Readonly<Record<string, unknown>>;
export type Annotations = Readonly<Record<string, string>>;

export interface StoredObject {
  readonly kind: ControlKind;
  readonly namespace: string;
  readonly name: string;
  /** A UUID. */
  readonly id: string;
  /** As it was written, perhaps with the defaults of its kind. */
  readonly spec: Spec;
  readonly annotations: Annotations;
  /** Id of the object that it goes with; undefined: it goes with none. */
  readonly ownerId: string | undefined;
  /** Conditions and what else its status says. */
  readonly status: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Whether it came by the control plane. */
  readonly isOurs: boolean;
  /** Who else has a say in the object, as it is told; undefined: nobody. `fields`: of the spec; none: any of them. */
  ownerOf(fields?: readonly string[]): string | undefined;
}

/** What an object becomes. */
export type Change = Pick<StoredObject, 'spec' | 'annotations'>;
export interface Draft extends Pick<StoredObject, 'kind' | 'namespace' | 'name' | 'spec'> {
  readonly labels?: Readonly<Record<string, string>>;
  /** The object that it goes with. */
  readonly owner?: StoredObject;
}

/** Which objects are meant. */
export interface Selection {
  readonly name?: string | undefined;
  readonly label?: readonly [name: string, value: string];
}

export interface ObjectStore {
  /** In no order. `namespace` undefined: of all. Rejects with ControlError or ApiError, as all of these. */
  list(kind: ControlKind, namespace: string | undefined, selection?: Selection): Promise<readonly StoredObject[]>;
  /** undefined: there is one of the name. */
  create(draft: Draft): Promise<StoredObject | undefined>;
  /** `next` is asked anew where somebody else was quicker. Rejects with `owned_elsewhere`, `conflict`, `unknown_object`. */
  change(object: StoredObject, next: (current: StoredObject) => Change): Promise<StoredObject>;
  /** Gone already is success. Rejects with `owned_elsewhere`. */
  remove(object: StoredObject): Promise<void>;
}
