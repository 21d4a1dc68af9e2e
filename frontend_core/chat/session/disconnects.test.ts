import { expect, it } from "vitest";
import { quietEnd } from "./disconnects";

it("passes a body on and ends where it breaks", async () => {
  let pulls = 0;
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulls++ === 0) controller.enqueue(new TextEncoder().encode("data: 1\n\n"));
      else controller.error(new TypeError("network error"));
    },
  });
  const response = quietEnd(new Response(broken, { status: 202, headers: { "x-run-id": "r" } }));
  expect([response.status, response.headers.get("x-run-id")]).toEqual([202, "r"]);
  expect(await response.text()).toBe("data: 1\n\n");
});

it("lets go of the connection when the reader leaves", async () => {
  let left: unknown;
  const endless = new ReadableStream<Uint8Array>({ cancel: (reason) => { left = reason; } });
  await quietEnd(new Response(endless)).body?.cancel("gone");
  expect(left).toBe("gone");
});

it("leaves a response without a body alone", () => {
  const response = new Response(null, { status: 204 });
  expect(quietEnd(response)).toBe(response);
});
