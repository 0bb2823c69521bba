/** Values by namespace and name. The two are never joined: thousands are looked up in each pass. */
export class ByName<T> {
  readonly #namespaces = new Map<string, Map<string, T>>();

  get(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  set(namespace: string, name: string, value: T): void {
    const known = this.#namespaces.get(namespace);
    if (known === undefined) this.#namespaces.set(namespace, new Map([[name, value]]));
    else known.set(name, value);
  }
}
