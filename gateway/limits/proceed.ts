/** Goes on at once with what is at hand, and later with what is promised: who need not wait makes no promise. */
export function proceed<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
