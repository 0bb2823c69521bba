/** Now, as metadata has it: to the second. */
export function timestamp(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
