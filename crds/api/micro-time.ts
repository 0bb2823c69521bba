/** A moment as the API server takes it where microseconds are asked for: exactly six digits. */
export function microTime(at: Date): string {
  return at.toISOString().replace('Z', '000Z');
}
