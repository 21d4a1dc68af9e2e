/**
 * What may come in: known routes, same-origin JSON, bounded bodies, well-formed ids. Everything else ends here.
 *
 * CopilotKit's runtime matches paths by their ends, runs an agent on a cross-site text/plain post, reads bodies of any
 * size and hands ids on decoded; its other routes (threads, memories, inspector, debug feed, ...) would answer without
 * an identity. So this decides first, and only its four routes exist.
 */

import { RunAgentInputSchema } from "@ag-ui/client";

import { byStatus, invalid, Refused } from "./problems";

export type Route =
  | { readonly kind: "info" }
  | { readonly kind: "run" | "connect"; readonly agent: string }
  | { readonly kind: "stop"; readonly agent: string; readonly thread: string };

/** As middle-core takes them (`middle_core/runs/intake/request.py`): fit for a path, a header and a key. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_.:@~-]{0,127}$/;
const AGENT = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$/;

/** The route that a path below the base means. Throws Refused: 404 for every other, 405 for another method. */
export function routeOf(method: string, pathname: string, base: string): Route {
  if (!pathname.startsWith(`${base}/`)) throw new Refused(byStatus(404));
  const [first, agent = "", verb, thread, ...more] = pathname.slice(base.length).split("/").slice(1).map(decoded);
  if (first === "info" && agent === "" && verb === undefined) {
    return allowed(method, "GET", { kind: "info" });
  }
  if (first === "agent" && AGENT.test(agent) && more.length === 0) {
    if ((verb === "run" || verb === "connect") && thread === undefined) return allowed(method, "POST", { kind: verb, agent });
    if (verb === "stop" && thread !== undefined) return allowed(method, "POST", { kind: "stop", agent, thread: checkId("threadId", thread) });
  }
  throw new Refused(byStatus(404));
}

/** The id itself. Throws Refused naming the field. */
export function checkId(field: string, value: unknown): string {
  if (typeof value === "string" && ID.test(value)) return value;
  throw new Refused(invalid(422, `${field}: an id has 1 to 128 characters out of letters, digits and _ . : @ ~ - and starts with a letter or digit.`));
}

/**
 * Refuses what is no RunAgentInput, naming the field and never its value. The runtime checks the same, but answers with
 * the checker's own text and writes a stack trace to the log for it.
 */
export function checkInput(value: Readonly<Record<string, unknown>>): void {
  checkId("threadId", value.threadId);
  checkId("runId", value.runId);
  const [issue] = RunAgentInputSchema.safeParse(value).error?.issues ?? [];
  if (issue) throw new Refused(invalid(422, `${issue.path.join(".")}: this is not what AG-UI puts here.`));
}

/**
 * Refuses what another site makes a browser send. Sec-Fetch-Site is the browser's own word; where it is missing (plain
 * http, older browsers) Origin has to name this host. Programs send neither: without cookies there is nothing to ride on.
 */
export function sameOrigin(request: Request): void {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const own = site === null ? origin === null || hostOf(origin) === request.headers.get("host") : site === "same-origin";
  if (!own) throw new Refused({ ...byStatus(403), detail: "This address takes requests of its own page only." });
}

/** The JSON body, bounded: what is too large is refused before it is in memory. Throws Refused. */
export async function readJson(request: Request, maxBytes: number): Promise<{ readonly text: string; readonly value: Record<string, unknown> }> {
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refused(byStatus(415));
  const text = await readBounded(request, maxBytes);
  if (text.trim() === "") return { text: "", value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Refused(invalid(422, "The body is not valid JSON."), { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Refused(invalid(422, "The body has to be a JSON object."));
  return { text, value: value as Record<string, unknown> };
}

async function readBounded(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = new Refused({ ...byStatus(413), detail: `The request is larger than the ${maxBytes} bytes this server accepts.` });
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLarge;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  const reader = request.body?.getReader();
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      size += part.value.byteLength;
      if (size > maxBytes) throw tooLarge;
      text += decoder.decode(part.value, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error === tooLarge) throw error;
    throw new Refused(invalid(422, error instanceof TypeError ? "The body is not valid UTF-8." : "The upload broke off."), { cause: error });
  } finally {
    void reader?.cancel().catch(() => undefined); // The rest of a refused upload: whether it is still there is no matter.
  }
}

function allowed(method: string, only: string, route: Route): Route {
  if (method !== only) throw new Refused(byStatus(405));
  return route;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refused(byStatus(404));
  }
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
