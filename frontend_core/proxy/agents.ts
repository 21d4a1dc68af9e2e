/**
 * The agents as CopilotKit's runtime wants to see them. They live in middle-core; these are names with a description.
 *
 * A run does not ask which agents exist: middle-core knows, and answers 404 for one that it does not have.
 */

import { AbstractAgent, type BaseEvent } from "@ag-ui/client";
import { type Observable, throwError } from "rxjs";

import { Exchange } from "./requestContext";
import type { MiddleCore } from "./middleCoreClient";
import type { Route } from "./guard";
import { DEFAULT_AGENT } from "./runner";

type Agents = Record<string, AbstractAgent>;

/** An agent elsewhere: the runner runs it by its name. */
export class RemoteAgent extends AbstractAgent {
  override run(): Observable<BaseEvent> {
    return throwError(() => new Error("Agents run in middle-core, through the runner."));
  }

  override clone(): RemoteAgent {
    return new RemoteAgent({ description: this.description });
  }
}

/** The agents that a route may name. */
export async function agentsFor(route: Route, core: MiddleCore): Promise<Agents> {
  const fallback = { [DEFAULT_AGENT]: new RemoteAgent() };
  if (route.kind !== "info") return { ...fallback, [route.agent]: new RemoteAgent() };
  const { caller, signal } = Exchange.current();
  try {
    const info = await core.json(caller, { method: "GET", path: "/copilotkit/info", signal });
    return { ...fallback, ...named(info.agents) };
  } catch {
    return fallback; // The page has to come up also signed out or while middle-core is away; its first run says which.
  }
}

function named(listed: unknown): Agents {
  const agents: Agents = {};
  for (const item of Array.isArray(listed) ? (listed as Partial<Record<string, unknown>>[]) : []) {
    if (typeof item.name !== "string") continue;
    const agent = new RemoteAgent({ description: typeof item.description === "string" ? item.description : "" });
    agents[item.name] = agent;
    if (item.default === true) agents[DEFAULT_AGENT] = agent;
  }
  return agents;
}
