/**
 * One agent of CopilotKit's core, and the stream that it reads: begun, left, and how it ended.
 *
 * Only the newest stream counts: `ticket` tells whether something newer took its place. It knows nothing of people,
 * retries or what is shown.
 */

import type { HttpAgent, Message } from "@ag-ui/client";
import type { CopilotKitCoreReact } from "@copilotkit/react-core/v2/headless";
import { CUSTOM } from "../../contract";
import { failureOfRunError, failureOfThrown, type Failure } from "../errors/failure";
import { quietEnd } from "./disconnects";

/** How a stream ended. `superseded`: something newer took its place, and its end means nothing any more. */
export type Outcome =
  | { readonly type: "finished" | "superseded" }
  | { readonly type: "failed" | "refused" | "cut"; readonly failure: Failure; readonly progressed: boolean };

export interface StreamDeps {
  readonly core: CopilotKitCoreReact;
  /** The local name of the agent; its name at the runtime; the thread it speaks in. */
  readonly agentId: string;
  readonly runtimeAgentId: string;
  readonly threadId: string;
  /** Asks the server to stop what runs in this thread; whether something ran. Throws HttpFailure. */
  readonly postStop: () => Promise<boolean>;
  readonly beforeRequest: () => void;
  /** The messages with what became of the page's own tool calls. */
  readonly withOutcomes: (messages: readonly Message[]) => readonly Message[];
  readonly on: {
    readonly changed: () => void;
    readonly snapshot: () => void;
    /** An event that only a running run sends. */
    readonly live: () => void;
    readonly event: (event: Readonly<Record<string, unknown>>) => void;
    readonly custom: (name: string, value: unknown) => void;
    readonly state: (state: Readonly<Record<string, unknown>>) => void;
  };
}

/** What the current stream has shown so far. */
interface Watch {
  progressed: boolean;
  end: "finished" | Failure | undefined;
  error: unknown;
}

const LIVE_EVENTS: ReadonlySet<string> = new Set([
  "TEXT_MESSAGE_START",
  "TEXT_MESSAGE_CONTENT",
  "TOOL_CALL_START",
  "REASONING_START",
  "STEP_STARTED",
]);

export class AgentStream {
  agent: HttpAgent | undefined;
  /** The server's name of the newest run that was seen: what RUN_STARTED calls it, an answer shares with its question. */
  seenRunId: string | undefined;
  /** Settles when the stream that was begun last is over. */
  reading: Promise<void> = Promise.resolve();
  #ticket = 0;
  #watch: Watch = { progressed: false, end: undefined, error: undefined };
  #stopRequest: Promise<boolean> | undefined;
  #release: (() => void) | undefined;
  /** Ends the reading of a stream that is over while CopilotKit still waits for a person's answer to its last call. */
  #personAsked: (() => void) | undefined;

  constructor(private readonly deps: StreamDeps) {}

  get ticket(): number {
    return this.#ticket;
  }

  /** Something newer begins; what is going on is superseded. */
  supersede(): number {
    return ++this.#ticket;
  }

  /** Take an agent from the core. `close` undoes it. */
  open(): void {
    const { core, agentId, runtimeAgentId, threadId } = this.deps;
    const { agent, unregister } = core.registerProxiedAgent({ agentId, runtimeAgentId });
    agent.threadId = threadId;
    // CopilotKit's own stop request is fire-and-forget; ours tells whether the server heard it.
    agent.abortRun = () => {
      this.#stopRequest = this.deps.postStop();
    };
    agent.use((input, next) => next.run({ ...input, messages: [...this.deps.withOutcomes(input.messages)] }));
    const { fetch } = agent;
    agent.fetch = async (...request) => quietEnd(await fetch(...request));
    const subscription = this.#subscribe(agent);
    const tools = core.subscribe({
      onToolExecutionStart: ({ agentId: asker, toolName }) => {
        const tool = asker === agentId ? core.getTool({ toolName, agentId }) : undefined;
        if (tool?.type === "human-in-the-loop" && tool.followUp === false && this.#watch.end !== undefined) this.#personAsked?.();
      },
    });
    this.agent = agent;
    this.#release = () => {
      tools.unsubscribe();
      subscription.unsubscribe();
      unregister();
    };
  }

  /** Leave the stream (the run goes on at the server) and give the agent back. */
  async close(): Promise<void> {
    this.supersede();
    const { agent } = this;
    this.agent = undefined;
    this.#release?.();
    this.#release = undefined;
    if (agent !== undefined) await letGo(agent);
  }

  /** Leave the stream; the agent stays. */
  async leave(): Promise<void> {
    this.supersede();
    if (this.agent !== undefined) await letGo(this.agent);
  }

  /** Leave what is being read and read what `go` begins, to its end. */
  async read(go: (agent: HttpAgent) => Promise<void>, ticket = this.supersede()): Promise<Outcome> {
    const { agent } = this;
    if (agent === undefined) return { type: "superseded" };
    await letGo(agent);
    if (ticket !== this.#ticket) return { type: "superseded" };
    agent.abortController = new AbortController();
    const watch: Watch = { progressed: false, end: undefined, error: undefined };
    this.#watch = watch;
    this.deps.beforeRequest();
    const personAsked = new Promise<void>((resolve) => {
      this.#personAsked = resolve;
    });
    const whole = go(agent).catch((error: unknown) => {
      watch.error ??= error;
    });
    const reading = Promise.race([whole, personAsked]);
    this.reading = reading;
    await reading;
    return ticket === this.#ticket ? outcomeOf(watch) : { type: "superseded" };
  }

  /** Attach to the thread as the server has it. A look that brought nothing costs nothing of what was there. */
  connect(ticket?: number): Promise<Outcome> {
    return this.read(async (agent) => {
      const before = structuredClone(agent.messages);
      const open = agent.pendingInterrupts;
      const watch = this.#watch;
      // With open questions the client would not even look; the look brings those that are still open.
      agent.pendingInterrupts = [];
      await this.deps.core.connectAgent({ agent });
      if (watch.progressed) return;
      agent.pendingInterrupts = open;
      if (agent.messages.length < before.length) agent.setMessages(before);
    }, ticket);
  }

  /** Stop what runs; whether something did. Throws HttpFailure. */
  stop(): Promise<boolean> {
    if (this.agent === undefined) return Promise.resolve(false);
    this.deps.core.stopAgent({ agent: this.agent }); // Calls `abortRun`, which leaves its request for us.
    return this.#stopRequest ?? this.deps.postStop();
  }

  /** Whether the agent has the message. */
  has(messageId: string): boolean {
    return this.agent?.messages.some(({ id }) => id === messageId) ?? false;
  }

  #subscribe(agent: HttpAgent): { unsubscribe: () => void } {
    const { on } = this.deps;
    return agent.subscribe({
      onRunInitialized: () => {
        this.#watch.end = undefined;
        on.changed();
      },
      onRunStartedEvent: () => {
        this.#watch.progressed = true;
      },
      onMessagesSnapshotEvent: on.snapshot,
      onEvent: ({ event }) => {
        if (LIVE_EVENTS.has(event.type)) on.live();
        on.event(event);
      },
      onRunFinishedEvent: () => {
        this.#watch.end = "finished";
      },
      onRunErrorEvent: ({ event }) => {
        this.#watch.end = failureOfRunError(event);
      },
      onRunFailed: ({ error }) => {
        this.#watch.error = error;
      },
      onCustomEvent: ({ event }) => {
        const value: unknown = event.value;
        if (event.name === CUSTOM.RUN && isObject(value) && typeof value.runId === "string") this.seenRunId = value.runId;
        on.custom(event.name, event.value);
      },
      onMessagesChanged: on.changed,
      onStateChanged: ({ state }) => {
        on.state(isObject(state) ? state : {});
      },
    });
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Leave the stream and close its connection: detaching alone leaves it open until the run ends. */
async function letGo(agent: HttpAgent): Promise<void> {
  agent.abortController.abort();
  await agent.detachActiveRun();
}

function outcomeOf({ end, error, progressed }: Watch): Outcome {
  if (end === "finished") return { type: "finished" };
  if (end !== undefined) return { type: "failed", failure: end, progressed };
  const failure = failureOfThrown(error);
  const refused = failure.code !== "offline" && !progressed;
  return { type: refused ? "refused" : "cut", failure, progressed };
}
