/** Models by name; one that ends in `*` stands for all that begin like it. */
export function modelTest(models: readonly string[]): (model: string) => boolean {
  const whole = new Set(models);
  const starts = models.filter((model) => model.endsWith('*')).map((model) => model.slice(0, -1));
  return (model) => whole.has(model) || starts.some((start) => model.startsWith(start));
}
