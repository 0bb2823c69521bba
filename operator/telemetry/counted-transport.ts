/** Counts what is asked of an API server. */
import type { Transport } from '#crds/api/transport.ts';

/** `code`: the status, or `<error>` where there was no answer. */
export function countedTransport(transport: Transport, count: (method: string, code: string) => void): Transport {
  return {
    async send(request) {
      try {
        const response = await transport.send(request);
        count(request.method, String(response.status));
        return response;
      } catch (error) {
        count(request.method, '<error>');
        throw error;
      }
    },
    close: () => transport.close(),
  };
}
