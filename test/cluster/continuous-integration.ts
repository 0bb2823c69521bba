/** CI systems set CI to `true` or `1`. */
export function isContinuousIntegration(env: Readonly<Record<string, string | undefined>>): boolean {
  return !['', '0', 'false', undefined].includes(env.CI);
}
