/**
 * A response whose body ends where its connection breaks, instead of failing.
 *
 * How a stream ended is told by its last event, not by its socket: the session takes an end without a terminal event
 * as a cut, and attaches again. @ag-ui/client throws a broken body once more from its clean-up, where nobody can
 * catch it (ag-ui-protocol/ag-ui#2510 is the same fault on the server).
 */

export function quietEnd(response: Response): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch {
        controller.close(); // The connection broke, or was given up: there is nothing more to read.
      }
    },
    async cancel(reason) {
      await reader.cancel(reason).catch(() => undefined); // It may have broken already.
    },
  });
  return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
}
