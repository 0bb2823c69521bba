/** Templates with their partials in place. Made once for a snapshot. */
import { indented, parseTemplate, type TemplateNode } from '#crds/prompts/template.ts';

export type ReadyNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly steps: readonly string[] }
  | {
      readonly kind: 'section';
      readonly steps: readonly string[];
      readonly inverted: boolean;
      readonly nodes: readonly ReadyNode[];
    }
  | { readonly kind: 'nodes'; readonly nodes: readonly ReadyNode[] };

export interface FoundPartial {
  /** Equal for the same text of the same place. */
  readonly key: string;
  readonly text: string;
  /** Namespace in which partials of the text are looked for. */
  readonly namespace: string;
}

/** Throws where there is no such partial. */
export type FindPartial = (reference: string, namespace: string) => FoundPartial;

/** The operator's bound; no world that it compiled comes to it. */
const MAX_DEPTH = 8;

/** Templates of one snapshot: a partial is made ready once, however many name it. */
export class ReadyTemplates {
  private readonly find: FindPartial;
  private readonly partials = new Map<string, readonly ReadyNode[]>();

  constructor(find: FindPartial) {
    this.find = find;
  }

  /** Throws TemplateProblem, what `FindPartial` throws, or Error where partials lead in a circle. */
  ready(text: string, namespace: string, depth = 0): readonly ReadyNode[] {
    return this.readyNodes(parseTemplate(text), namespace, depth);
  }

  private readyNodes(nodes: readonly TemplateNode[], namespace: string, depth: number): readonly ReadyNode[] {
    return nodes.map((node) => {
      if (node.kind === 'section') return { ...node, nodes: this.readyNodes(node.nodes, namespace, depth) };
      return node.kind === 'partial' ? this.readyPartial(node, namespace, depth + 1) : node;
    });
  }

  private readyPartial(
    { reference, indent }: Extract<TemplateNode, { kind: 'partial' }>,
    namespace: string,
    depth: number,
  ): ReadyNode {
    if (depth > MAX_DEPTH) throw new Error(`{{>${reference}}} is more than ${MAX_DEPTH} partials deep`);
    const found = this.find(reference, namespace);
    const key = `${found.key} ${indent}`;
    const known = this.partials.get(key);
    if (known !== undefined) return { kind: 'nodes', nodes: known };
    const nodes = this.ready(indented(found.text, indent), found.namespace, depth);
    this.partials.set(key, nodes);
    return { kind: 'nodes', nodes };
  }
}
