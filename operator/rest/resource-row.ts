/** What a resource of the control plane is: a row of the table. */
import type { Body, BodyRule } from './body.ts';
import type { ControlCaller } from './caller.ts';
import type { ControlWorld } from './control-world.ts';
import type { Annotations, ControlKind, Spec, StoredObject } from './stored-object.ts';

export type Action = 'create' | 'read' | 'list' | 'update' | 'delete' | 'rotate';

/** One request, authenticated. */
export interface Call {
  readonly world: ControlWorld;
  readonly caller: ControlCaller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Body | undefined;
}

/** A query parameter of the list. */
export interface Filter {
  readonly words: readonly string[];
  readonly absent?: string;
  /** The object's own word. */
  readonly of: (spec: Spec) => unknown;
}

/** Another path of the resource, below that of an object or beside it. */
export interface ActionRow {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the resource's, e.g. `/:id/entities`. */
  readonly path: string;
  readonly action: Action;
  readonly run: (row: ResourceRow, call: Call) => Promise<object>;
}

export type Operation = (row: ResourceRow, call: Call) => Promise<object>;

/** What a resource does in its own way. */
export type OwnOperations = Partial<Record<'list' | 'read' | 'create' | 'replace' | 'remove', Operation>>;

export interface ResourceRow {
  /** Without `/v1`. */
  readonly path: string;
  readonly kind: ControlKind;
  /** Of the objects of the kind, those that are meant. Default: all. */
  readonly isOne?: (spec: Spec) => boolean;
  /** In messages, and what an object is called that has no name. */
  readonly title: string;
  /** `object` of the answers to a creation, and of an object by itself. */
  readonly words: { readonly created: string; readonly whole: string };
  /** Below the resource's: where objects are created. */
  readonly createPath: string;
  /** Fields of the spec that the path of a creation gives. Throws ControlError. */
  readonly given: (params: Call['params']) => Spec;
  readonly create: BodyRule;
  readonly update: BodyRule;
  readonly filters: Readonly<Record<string, Filter>>;
  /** Any one of these scopes is enough. `spec` undefined: for an object that is not known yet. */
  readonly scopes: (action: Action, spec?: Spec) => readonly string[];
  /** Whether objects of the organisation namespace are about every workspace. */
  readonly isAboutAll: boolean;
  /** In the organisation namespace whatever the caller's is. */
  readonly isOfOrganisation: (spec: Spec) => boolean;
  /** A spec from the fields of a body; `before` undefined: of a new object. */
  readonly merged: (fields: Spec, before: Spec | undefined) => Spec;
  /** Throws where the caller may not have this made of the object. */
  readonly assertMay?: (caller: ControlCaller, spec: Spec, before: Spec | undefined) => void;
  /** Annotations that a body asks for besides. */
  readonly annotations?: (besides: Body, object: StoredObject) => Annotations;
  /** What else a creation answers; undoes the creation and throws where there is nothing to answer. */
  readonly created?: (object: StoredObject, call: Call) => Promise<object>;
  readonly wire: (object: StoredObject, call: Call) => object;
  readonly removal: 'archive' | 'delete';
  readonly actions: readonly ActionRow[];
  readonly operations?: OwnOperations;
}
