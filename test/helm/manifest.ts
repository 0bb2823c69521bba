/** Rendered objects, and how to look into them. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** What lies at a path such as `spec.ports.0.name`; undefined where there is nothing. */
export function at<T>(object: unknown, path: string): T | undefined {
  return path.split('.').reduce<unknown>((node, step) => (Object(node) as Record<string, unknown>)[step], object) as
    | T
    | undefined;
}

export function ofKind(objects: readonly Manifest[], kind: string): readonly Manifest[] {
  return objects.filter((object) => object.kind === kind);
}

/** The one object of a kind and name. Throws where there is none, or more. */
export function only(objects: readonly Manifest[], kind: string, name: string): Manifest {
  const found = ofKind(objects, kind).filter((object) => object.metadata.name === name);
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} of ${kind}/${name}`);
  return first;
}

export function idOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly securityContext?: unknown;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly [source: string]: unknown }[];
  readonly [field: string]: unknown;
}

export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

/** Every pod that the objects make, by the id of what makes it. */
export function podTemplates(objects: readonly Manifest[]): readonly (readonly [string, PodTemplate])[] {
  return objects.flatMap((object) => {
    const pod = object.kind === 'Pod' ? (object as unknown as PodTemplate) : at<PodTemplate>(object, 'spec.template');
    return pod === undefined ? [] : [[idOf(object), pod] as const];
  });
}

/** Without containers where there is no such Deployment. */
export function podSpecOf(objects: readonly Manifest[], deployment: string): PodSpec {
  const found = ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name === deployment);
  return at<PodTemplate>(found, 'spec.template')?.spec ?? { containers: [] };
}

/** Whether labels are all that a selector asks for. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** Labels by which an object finds pods, where it does. */
export function selectorOf(object: Manifest): Readonly<Record<string, string>> | undefined {
  const paths = ['spec.selector.matchLabels', 'spec.podSelector.matchLabels', 'spec.selector'];
  return paths.map((path) => at<Record<string, string>>(object, path)).find((found) => found !== undefined);
}
