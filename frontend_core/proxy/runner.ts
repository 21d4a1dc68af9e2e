/**
 * CopilotKit's port to an agent backend, implemented by middle-core: run, connect, stop, isRunning.
 *
 * It holds nothing: runs, threads and their history live in middle-core. A browser that goes away ends its follower,
 * never the run.
 */

import type { BaseEvent } from "@ag-ui/client";
import { EventType } from "@ag-ui/client";
import type { AgentRunner } from "@copilotkit/runtime/v2";
import { Observable, type Subscriber } from "rxjs";

import { ERROR_CODE } from "../contract";
import { Exchange } from "./requestContext";
import { follow, type Rules } from "./followRun";
import type { Ask, MiddleCore } from "./middleCoreClient";
import { Place } from "./replayCursor";
import { AWAY, type Problem, problemOfError, runError } from "./problems";
import { Stalled } from "./flowControl";

type Call<Method extends keyof AgentRunner> = Parameters<Extract<AgentRunner[Method], (...args: never[]) => unknown>>[0];

/** Runs the default agent; every other id is an agent's own name. */
export const DEFAULT_AGENT = "default";

const STOP_TRIES = 3;

export class MiddleCoreRunner implements AgentRunner {
  readonly #core: MiddleCore;
  readonly #rules: Rules;

  constructor(core: MiddleCore, rules: Rules) {
    this.#core = core;
    this.#rules = rules;
  }

  run({ agent, input }: Call<"run">): Observable<BaseEvent> {
    return this.#stream(door(agent.agentId), JSON.stringify(input), input.threadId);
  }

  connect({ threadId, agentId }: Call<"connect">): Observable<BaseEvent> {
    // The runtime hands over the thread alone; by what the page offers, middle-core knows how to show it what is open.
    const { runId, tools } = Exchange.current();
    const input = { threadId, runId, state: {}, messages: [], tools, context: [], forwardedProps: {} };
    return this.#stream(`${door(agentId)}/connect`, JSON.stringify(input), threadId);
  }

  async isRunning({ threadId }: Call<"isRunning">): Promise<boolean> {
    const { caller, signal } = Exchange.current();
    const thread = await this.#core.json(caller, { method: "GET", path: `/threads/${encodeURIComponent(threadId)}`, signal });
    return thread.running === true;
  }

  /** Whether a run is being stopped. What cannot be asked is refused with its real status. */
  async stop({ threadId, runId }: Call<"stop">): Promise<boolean> {
    const exchange = Exchange.current();
    const json = JSON.stringify({ threadId, ...(runId !== undefined && { runId }) });
    // Not the browser's signal: a stop that was clicked counts, also from a tab that is closed meanwhile.
    const ask: Ask = { method: "POST", path: "/copilotkit/stop", json, signal: new AbortController().signal };
    for (let left = STOP_TRIES; ; left -= 1) {
      try {
        const answer = await this.#core.json(exchange.caller, ask);
        exchange.open();
        return answer.stopped === true;
      } catch (error) {
        const problem = problemOfError(error);
        if (problem === AWAY && left > 1) continue; // A pooled connection that died meanwhile: stopping twice is stopping.
        exchange.refuse(problem);
        return false;
      }
    }
  }

  #stream(path: string, json: string, threadId: string): Observable<BaseEvent> {
    const exchange = Exchange.current();
    return new Observable((subscriber) => {
      const reader = new AbortController();
      void this.#pump(exchange, { path, json, threadId }, subscriber, AbortSignal.any([exchange.signal, reader.signal]));
      return () => {
        reader.abort();
      };
    });
  }

  /** Never rejects: what goes wrong becomes a refusal or the stream's last event. */
  async #pump(exchange: Exchange, opening: Opening, to: Subscriber<BaseEvent>, signal: AbortSignal): Promise<void> {
    const { caller, window, runId } = exchange;
    const accept = { accept: "text/event-stream" };
    const upstream = {
      start: (signal: AbortSignal) => this.#core.send(caller, { method: "POST", ...opening, headers: accept, signal }),
      attach: (run: string, lastEventId: string, signal: AbortSignal) =>
        this.#core.send(caller, { method: "GET", path: `/copilotkit/runs/${run}/events`, headers: { ...accept, "last-event-id": lastEventId }, signal }),
    };
    const place = new Place();
    try {
      for await (const event of follow(upstream, place, this.#rules, signal, () => { exchange.open(); })) {
        await window.enter(signal);
        to.next(event);
      }
    } catch (error) {
      if (!signal.aborted && !(error instanceof Stalled)) {
        const problem = problemOfError(error);
        if (shownInStream(problem) || !exchange.refuse(problem)) {
          exchange.open();
          if (!place.started) to.next({ type: EventType.RUN_STARTED, threadId: opening.threadId, runId });
          to.next(runError(problem));
        }
      }
    }
    to.complete();
  }
}

interface Opening {
  readonly path: string;
  readonly json: string;
  readonly threadId: string;
}

/** A busy thread is part of the conversation and is shown there; everything else that is refused has its status. */
function shownInStream(problem: Problem): boolean {
  return problem.code === ERROR_CODE.THREAD_BUSY;
}

function door(agentId: string | undefined): string {
  return agentId === undefined || agentId === DEFAULT_AGENT ? "/copilotkit" : `/copilotkit/${encodeURIComponent(agentId)}`;
}
