import { describe, expect, it, vi } from "vitest";

import { eventStream } from "./eventStream";
import { within } from "./testing/wait";

const bytes = (text: string) => new TextEncoder().encode(text);
const nothing = () => undefined;
const never = new AbortController().signal;

async function next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | null> {
  const { done, value } = await within("a chunk", reader.read());
  return done ? null : new TextDecoder().decode(value);
}

describe("eventStream", () => {
  it("greets at once, beats in silence, and ends with its source", async () => {
    let source: ReadableStreamDefaultController<Uint8Array> | undefined;
    const readable = new ReadableStream<Uint8Array>({ start(controller) { source = controller; } });
    let taken = 0;
    const response = eventStream(readable, { heartbeatMs: 20, taken: () => (taken += 1), over: nothing, end: never });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(await next(reader)).toBe(": hello\n\n");
    expect(await next(reader)).toBe(": keep-alive\n\n");
    source?.enqueue(bytes("data: 1\n\n"));
    expect(await next(reader)).toBe("data: 1\n\n");
    expect(taken).toBe(1);
    source?.close();
    expect(await next(reader)).toBeNull();
  });

  it("does not pile up heartbeats for a reader that is behind", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const response = eventStream(new ReadableStream<Uint8Array>(), { heartbeatMs: 1_000, taken: nothing, over: nothing, end: never });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      expect(await next(reader)).toBe(": hello\n\n");
      vi.advanceTimersByTime(60_000); // A minute in which nobody reads.
      expect(await next(reader)).toBe(": keep-alive\n\n");
      const second = reader.read();
      let came = false;
      void second.then(() => { came = true; });
      await new Promise((resolve) => setImmediate(resolve));
      expect(came).toBe(false);
      vi.advanceTimersByTime(1_000);
      await within("the next heartbeat", second);
      await reader.cancel();
    } finally {
      vi.useRealTimers();
    }
  });

  it("tells when the reader leaves, and takes its source along", async () => {
    let cancelled = false;
    let over = 0;
    const source = new ReadableStream<Uint8Array>({ cancel() { cancelled = true; } });
    const response = eventStream(source, { heartbeatMs: 1_000, taken: nothing, over: () => (over += 1), end: never });
    await response.body?.cancel();
    expect({ cancelled, over }).toEqual({ cancelled: true, over: 1 });
  });

  it("ends from outside, after what was already taken", async () => {
    const end = new AbortController();
    let over = 0;
    const source = new ReadableStream<Uint8Array>({ start(controller) { controller.enqueue(bytes("data: 1\n\n")); } });
    const reader = (eventStream(source, { heartbeatMs: 60_000, taken: nothing, over: () => (over += 1), end: end.signal }).body as ReadableStream<Uint8Array>).getReader();
    expect([await next(reader), await next(reader)]).toEqual([": hello\n\n", "data: 1\n\n"]);
    end.abort();
    expect(await next(reader)).toBeNull();
    expect(over).toBe(1);
  });

  it("breaks when its source breaks", async () => {
    const source = new ReadableStream<Uint8Array>({ start(controller) { controller.error(new Error("broken")); } });
    await expect(eventStream(source, { heartbeatMs: 1_000, taken: nothing, over: nothing, end: never }).text()).rejects.toThrow();
  });
});
