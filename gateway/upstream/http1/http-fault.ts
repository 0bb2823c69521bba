/** What an upstream did to HTTP/1.1. `cut`: it broke off; `invalid`: what it sent is not HTTP/1.1, or more than is read of it. */
export class HttpFault extends Error {
  readonly kind: 'cut' | 'invalid';

  constructor(kind: 'cut' | 'invalid', message: string) {
    super(message);
    this.name = 'HttpFault';
    this.kind = kind;
  }
}
