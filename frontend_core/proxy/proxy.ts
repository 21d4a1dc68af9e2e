/**
 * The proxy's doors, each a function from Request to Response. Built from a configuration; holds no user's data.
 */

import type { Config } from "./config";
import { silenceTelemetry } from "./config";
import { agentsFor } from "./agents";
import { Exchange } from "./requestContext";
import type { Rules } from "./followRun";
import { MiddleCore } from "./middleCoreClient";
import { checkId, checkInput, readJson, type Route, routeOf, sameOrigin } from "./guard";
import { callerOf } from "./identity";
import { AWAY, byStatus, type Problem, problemOf, problemOfError, problemResponse, Refused } from "./problems";
import { MiddleCoreRunner } from "./runner";
import { eventStream } from "./eventStream";

export const BASE_PATH = "/api/copilotkit";

const MAX_QUERY = 512;
const DIAG = /^\/diag\/(?:stream|runs\/[A-Za-z0-9-]{8,64})$/;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/;

type Handler = (request: Request) => Promise<Response>;

export class Proxy {
  readonly #config: Config;
  readonly #core: MiddleCore;
  /** The open streams, to end them at a shutdown. */
  readonly #open = new Set<AbortController>();
  #draining = false;
  #runtime: Promise<Handler> | null = null;

  constructor(config: Config) {
    this.#config = config;
    this.#core = new MiddleCore(config);
  }

  /** Everything below `/api/copilotkit`. */
  copilotkit(request: Request): Promise<Response> {
    return answer(async () => {
      const { pathname, origin } = new URL(request.url);
      const route = routeOf(request.method, pathname, BASE_PATH);
      if (this.#draining && route.kind !== "stop") throw new Refused(AWAY);
      const body = route.kind === "info" ? null : await this.#body(request, route);
      const runId = typeof body?.value.runId === "string" ? body.value.runId : "";
      const tools = Array.isArray(body?.value.tools) ? body.value.tools : [];
      const { timing } = this.#config;
      const gone = new AbortController();
      const signal = AbortSignal.any([request.signal, gone.signal]);
      const exchange = new Exchange(callerOf(request.headers), runId, tools, signal, timing.stallMs);
      // Only what the runtime needs: no header of the caller reaches it.
      const inner = new Request(origin + pathname, {
        method: request.method,
        signal,
        ...(body && { headers: { "content-type": "application/json" }, body: body.text }),
      });
      return exchange.run(async () => {
        const handle = await this.#handler();
        const response = await handle(inner);
        const streaming = exchange.stream !== null;
        const refused = streaming || route.kind === "stop" ? await exchange.verdict(streaming ? timing.verdictMs : 0) : null;
        if (refused) {
          await exchange.stream?.cancel();
          return problemResponse(refused);
        }
        if (exchange.stream) {
          const taken = () => {
            exchange.window.leave();
          };
          return eventStream(exchange.stream, { heartbeatMs: timing.heartbeatMs, taken, ...this.#opened(gone) });
        }
        if (!response.ok) return problemResponse(byStatus(response.status));
        response.headers.set("cache-control", "no-store");
        return response;
      });
    });
  }

  /** The caller's threads. */
  threads(request: Request): Promise<Response> {
    return this.#relay(request, "GET", () => {
      const { search } = new URL(request.url);
      if (search.length > MAX_QUERY) throw new Refused(byStatus(400));
      return `/threads${search}`;
    });
  }

  /** One thread: its status (with ETag), or its deletion. */
  thread(request: Request, id: string): Promise<Response> {
    const method = request.method === "DELETE" ? "DELETE" : "GET";
    return this.#relay(request, method, () => `/threads/${encodeURIComponent(checkId("threadId", id))}`);
  }

  /** Sign-in of the demo: middle-core has this door in dev only. Asked by this machine's own page, under no other name. */
  devToken(request: Request): Promise<Response> {
    return answer(async () => {
      sameOrigin(request);
      if (!LOOPBACK.test(request.headers.get("host") ?? new URL(request.url).host)) throw new Refused(byStatus(404));
      const { text } = await readJson(request, 4096);
      return this.#core.relay(callerOf(new Headers()), { method: "POST", path: "/dev/token", json: text, signal: request.signal });
    });
  }

  /** Is middle-core there and ready? 200, or 503 as a problem. */
  health(request: Request): Promise<Response> {
    return answer(async () => {
      await this.#core.json(callerOf(new Headers()), { method: "GET", path: "/readyz", signal: request.signal });
      return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
    });
  }

  /** The agents and the model, as middle-core tells them: for the page's badge. */
  info(request: Request): Promise<Response> {
    return this.#relay(request, "GET", () => "/copilotkit/info");
  }

  /**
   * `/api/diag`: middle-core's timed events by the way that an answer takes through this process, and nothing added: no
   * heartbeat and no patience of ours, so that the probe sees what the hops do. Exists where it is switched on.
   */
  diag(request: Request): Promise<Response> {
    return answer(async () => {
      const { pathname, search } = new URL(request.url);
      const path = pathname.slice("/api".length);
      if (!this.#config.diag || !DIAG.test(path) || search.length > MAX_QUERY) throw new Refused(byStatus(404));
      if (this.#draining) throw new Refused(AWAY);
      const key = request.headers.get("x-diag-key");
      const headers = key === null ? {} : { "x-diag-key": key };
      const caller = callerOf(request.headers);
      if (path !== "/diag/stream") return this.#core.relay(caller, { method: "GET", path, headers, signal: request.signal });
      const gone = new AbortController();
      const signal = AbortSignal.any([request.signal, gone.signal]);
      const asked = { ...headers, accept: "text/event-stream" };
      const upstream = await this.#core.send(caller, { method: "GET", path: path + search, headers: asked, signal, patient: true });
      if (!upstream.ok || !upstream.body) throw new Refused(await problemOf(upstream));
      return eventStream(upstream.body as ReadableStream<Uint8Array>, { heartbeatMs: 0, taken: () => undefined, ...this.#opened(gone) });
    });
  }

  /**
   * The process is about to end: ends every stream, as any cut would, and takes no new one. Next waits for open
   * responses, and an answer may take longer than the patience of whoever sent the signal.
   */
  drain(): void {
    this.#draining = true;
    for (const stream of this.#open) stream.abort();
  }

  /** Ends every connection to middle-core. */
  close(): Promise<void> {
    return this.#core.close();
  }

  /** Counts a stream as open until it is over, so that a drain ends it. */
  #opened(gone: AbortController) {
    this.#open.add(gone);
    const over = () => {
      this.#open.delete(gone);
      gone.abort();
    };
    return { over, end: gone.signal };
  }

  #relay(request: Request, method: "GET" | "DELETE", path: () => string): Promise<Response> {
    return answer(async () => {
      if (method !== "GET") sameOrigin(request);
      const match = request.headers.get("if-none-match");
      const headers = match === null ? {} : { "if-none-match": match };
      return this.#core.relay(callerOf(request.headers), { method, path: path(), headers, signal: request.signal });
    });
  }

  async #body(request: Request, route: Route) {
    sameOrigin(request);
    const body = await readJson(request, this.#config.maxBodyBytes);
    if (route.kind !== "stop") {
      checkInput(body.value);
    } else if (body.value.runId !== undefined) {
      checkId("runId", body.value.runId);
    }
    return body;
  }

  #handler(): Promise<Handler> {
    this.#runtime ??= this.#build();
    return this.#runtime;
  }

  /** CopilotKit's runtime, loaded at the first request, after its telemetry has been told to be quiet. */
  async #build(): Promise<Handler> {
    silenceTelemetry();
    const { CopilotRuntime, createCopilotRuntimeHandler } = await import("@copilotkit/runtime/v2");
    const rules: Rules = { timing: this.#config.timing, maxFrameChars: this.#config.maxFrameChars };
    const runtime = new CopilotRuntime({
      agents: ({ request }) => agentsFor(routeOf(request.method, new URL(request.url).pathname, BASE_PATH), this.#core),
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- the port has no behaviour to inherit; extending it would load the runtime, and its telemetry, at import
      runner: new MiddleCoreRunner(this.#core, rules),
      sseKeepAliveIntervalSeconds: 0, // `stream.ts` does it, and a chunk is then always an event.
    });
    return createCopilotRuntimeHandler({
      runtime,
      basePath: BASE_PATH,
      cors: false,
      hooks: {
        // The handler clones what this returns, and the copy of a stream that nobody reads keeps all of it in memory.
        onResponse: ({ response }) => {
          if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
          Exchange.current().stream = response.body;
          return new Response(null, { headers: response.headers });
        },
      },
    });
  }
}

/** The response, or the problem that kept it from being one. */
async function answer(handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle();
  } catch (error) {
    const problem: Problem = problemOfError(error);
    return problemResponse(problem);
  }
}
