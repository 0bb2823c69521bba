/** Works through `items`, `limit` at a time. Rejects with the first failure, after the others that had begun have ended. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
