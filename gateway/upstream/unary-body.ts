/** Collects a whole answer, bounded. */
import { GatewayError } from '../errors.ts';

/** An upstream's unary answer at most. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export class UnaryBody {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;

  /** Throws `upstream_invalid` when the answer grows past its bound. */
  add(chunk: Buffer, provider: string): void {
    this.bytes += chunk.length;
    if (this.bytes > MAX_ANSWER_BYTES) {
      throw new GatewayError('upstream_invalid', `${provider} sent an answer of more than ${MAX_ANSWER_BYTES} bytes.`, {
        provider,
      });
    }
    this.chunks.push(chunk);
  }

  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  taken(): Buffer {
    const first = this.chunks[0];
    return this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks, this.bytes);
  }
}
