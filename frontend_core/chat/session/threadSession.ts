/**
 * One conversation on this page: what it shows, and what it does when people and networks interfere.
 *
 * It drives CopilotKit's core (run, connect, stop) for one thread with an agent of its own, so that nothing of one
 * thread can reach another. It knows how a stream may end (finished, failed, refused, cut) and what follows from
 * each: a cut is never the person's problem while re-attaching works. It renders nothing; `view` is what is shown,
 * renewed at most once per frame.
 */

import type { AgentSubscriber, HttpAgent } from "@ag-ui/client";
import type { CopilotKitCoreReact } from "@copilotkit/react-core/v2/headless";
import { failureOfRunError, failureOfThrown, isAway, type Failure } from "../errors/failure";
import { Store } from "../ui/store";
import { delayOf, type Backoff } from "./backoff";
import { readProgress, type Progress } from "./progress";
import { quietEnd } from "./quietEnd";
import { buildRows, openAnswer, weightOf, type Row } from "./rows";

export type Phase = "loading" | "idle" | "running" | "reconnecting" | "stopping";

export interface SessionView {
  readonly phase: Phase;
  readonly rows: readonly Row[];
  readonly failure: Failure | undefined;
  /** What the server says it is doing, by tool call id, or "" for the run as a whole. */
  readonly progress: ReadonlyMap<string, Progress>;
  /** Stopped before the answer began: there is no message that could carry the mark. */
  readonly stoppedEmpty: boolean;
}

export interface SessionDeps {
  readonly core: CopilotKitCoreReact;
  readonly threadId: string;
  /** The agent's name at the runtime. */
  readonly runtimeAgentId: string;
  /** Whether the server may know this thread. A thread made a moment ago needs no look. */
  readonly known: boolean;
  /** Asks the server to stop what runs in this thread; whether something ran. Throws HttpFailure. */
  readonly postStop: () => Promise<boolean>;
  /** Called before each request: puts the current token on the core. */
  readonly beforeRequest: () => void;
  /** Called with each failure before it is shown. */
  readonly onFailure: (failure: Failure) => void;
  /** A run began or ended: the thread list is out of date. */
  readonly onRunChange: () => void;
  readonly newId: () => string;
  readonly nextFrame: (callback: () => void) => void;
  /** The pauses between two tries to attach again; the default suits people. */
  readonly reconnect?: Backoff;
}

/** How a stream ended. `superseded`: something newer took its place, and its end means nothing any more. */
type Outcome =
  | { readonly type: "finished" | "superseded" }
  | { readonly type: "failed" | "refused" | "cut"; readonly failure: Failure; readonly progressed: boolean };

/** What the current stream has shown so far. */
interface Watch {
  progressed: boolean;
  end: "finished" | Failure | undefined;
  error: unknown;
}

interface Outgoing {
  readonly id: string;
  readonly text: string;
}

const RECONNECT = { firstMs: 400, maxMs: 6_000 };
/** About 40 s of trying; after that the person is told, and the health watch takes over. */
const RECONNECT_TRIES = 10;
/** After so many tries in vain the page asks whether the server is there at all. */
const TRIES_UNTIL_TOLD = 3;
/** A replay may take this long to catch up with what is on the screen before the screen follows it. */
const CATCH_UP_MS = 600;
/** A stopped stream that has not ended by then is left: the server has the stop on record. */
const STOP_PATIENCE_MS = 4_000;
const STOP_AGAIN_MS = 150;
/** How long a new message waits for the end of the stopped stream. */
const LAST_WORDS_MS = 500;
const BUSY_AFTER_STOP_TRIES = 6;
const BUSY_AFTER_STOP_MS = 350;

export class ThreadSession {
  readonly view: Store<SessionView>;
  readonly agentId: string;
  #agent: HttpAgent | undefined;
  #release: (() => void) | undefined;
  #ticket = 0;
  #streaming: Promise<void> = Promise.resolve();
  #watch: Watch = { progressed: false, end: undefined, error: undefined };
  #outgoing: Outgoing | undefined;
  /** The last message of the person that has no whole answer yet: what Retry sends. */
  #unanswered: Outgoing | undefined;
  #known: boolean;
  #seenRunId: string | undefined;
  readonly #stopped = new Set<string>();
  /** The message that carries the mark of the latest stop, while it may still move. */
  #marked: string | undefined;
  #stopAsked: Promise<void> | undefined;
  #stopRequest: Promise<boolean> | undefined;
  /** The run on the screen was stopped, here or elsewhere. */
  #cut = false;
  /** A stop was asked for, and the next run may find its thread still busy for a moment. */
  #stopLately = false;
  #hold: { readonly weight: number; until: number | undefined } | undefined;
  #framePending = false;
  #nudge: (() => void) | undefined;

  constructor(private readonly deps: SessionDeps) {
    this.agentId = `thread:${deps.threadId}`;
    this.#known = deps.known;
    this.view = new Store<SessionView>({
      phase: deps.known ? "loading" : "idle",
      rows: [],
      failure: undefined,
      progress: new Map(),
      stoppedEmpty: false,
    });
  }

  /** Whether the server may know this thread by now. */
  get known(): boolean {
    return this.#known;
  }

  /** What RUN_STARTED called the newest run that this page has seen. */
  get seenRunId(): string | undefined {
    return this.#seenRunId;
  }

  get #phase(): Phase {
    return this.view.get().phase;
  }

  /** Take an agent from the core and load the thread. `dispose` undoes it; both may be repeated. */
  start(): void {
    const { agent, unregister } = this.deps.core.registerProxiedAgent({
      agentId: this.agentId,
      runtimeAgentId: this.deps.runtimeAgentId,
    });
    agent.threadId = this.deps.threadId;
    // CopilotKit's own stop request is fire-and-forget; ours tells whether the server heard it.
    agent.abortRun = () => {
      this.#stopRequest = this.deps.postStop();
    };
    const { fetch } = agent;
    agent.fetch = async (...request) => quietEnd(await fetch(...request));
    const subscription = agent.subscribe(this.#subscriber());
    this.#agent = agent;
    this.#release = () => {
      subscription.unsubscribe();
      unregister();
    };
    if (this.#known) this.#go(this.#open());
  }

  /** Let go of the stream (the run goes on at the server) and of the agent. */
  dispose(): void {
    this.#ticket++;
    this.#nudge?.();
    this.#release?.();
    this.#release = undefined;
    const agent = this.#agent;
    this.#agent = undefined;
    if (agent !== undefined) this.#go(letGo(agent));
  }

  /** Send a message. False when this is not the moment: the text stays with the caller. */
  send(text: string): boolean {
    if (this.#phase !== "idle" && this.#phase !== "stopping") return false;
    if (text.trim() === "") return false;
    this.#go(this.#send({ id: this.deps.newId(), text }));
    return true;
  }

  /** Stop the answer that is being written. The view says so at once; the server is asked. */
  stop(): void {
    if (this.#phase !== "running" && this.#phase !== "reconnecting") return;
    const answer = openAnswer(this.view.get().rows);
    this.#mark(answer);
    this.#cut = true;
    this.#stopLately = true;
    this.#show({ phase: "stopping", failure: undefined, stoppedEmpty: answer === undefined });
    this.#stopAsked = this.#stop();
    this.#go(this.#stopAsked);
  }

  /** Try again what failed: send the message again, or look at the thread again. */
  retry(): void {
    if (this.#phase !== "idle") return;
    this.#go(this.#resume());
  }

  /** The server is back, or the person signed in again: go on where a failure of that kind left off. */
  recovered(): void {
    const { failure } = this.view.get();
    this.#nudge?.();
    if (this.#phase !== "idle" || failure === undefined) return;
    if (isAway(failure) || failure.code === "unauthorized") this.#go(this.#resume());
  }

  /** Look at the thread again: a run was started elsewhere, or one has come and gone. */
  attach(): void {
    if (this.#phase === "idle") this.#go(this.#attach());
  }

  dismissFailure(): void {
    this.#show({ failure: undefined });
  }

  // what the verbs above do ---------------------------------------------------------------------------

  async #open(): Promise<void> {
    this.#show({ phase: "loading", failure: undefined });
    await this.#reattach(undefined, "loading");
  }

  async #attach(): Promise<void> {
    const { failure } = this.view.get();
    if (failure !== undefined && isAway(failure)) {
      await this.#resume(); // The server answers again, which is what was missing.
      return;
    }
    const unsent = this.#unanswered;
    const outcome = await this.#connect();
    if (outcome.type === "finished" && unsent !== undefined && !this.#has(unsent.id)) {
      // What failed to go out stays on the screen with its failure, below what came from elsewhere.
      this.#outgoing = unsent;
      this.#hold = undefined;
      this.#show({ phase: "idle", failure });
    } else {
      if (outcome.type === "finished") this.dismissFailure();
      await this.#conclude(outcome, undefined);
    }
  }

  async #send(message: Outgoing): Promise<void> {
    this.#outgoing = message;
    this.#unanswered = message;
    this.#known = true;
    const stopping = this.#stopAsked;
    const ticket = ++this.#ticket;
    this.#show({ phase: "running", failure: undefined, stoppedEmpty: false, progress: new Map() });
    if (stopping !== undefined) {
      // A run that overtakes its own stop would be refused as busy; and the stopped answer may still get its last words.
      await stopping;
      await Promise.race([this.#streaming, this.#pause(LAST_WORDS_MS)]);
    }
    if (ticket !== this.#ticket) return;
    await this.#run(message);
  }

  async #run(message: Outgoing, tries = 0): Promise<void> {
    this.#cut = false;
    this.#marked = undefined;
    const outcome = await this.#stream(async (agent) => {
      const place = agent.messages.findIndex(({ id }) => id === message.id);
      if (place === -1) agent.addMessage({ id: message.id, role: "user", content: message.text });
      else agent.setMessages(agent.messages.slice(0, place + 1));
      this.#outgoing = undefined;
      // A message while cards are open withdraws them; the client refuses to send it without saying so.
      const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" as const }));
      this.deps.onRunChange();
      await this.deps.core.runAgent({ agent, ...(resume.length > 0 ? { resume } : {}) });
    });
    const busy = "failure" in outcome && outcome.failure.code === "thread_busy";
    if (busy && this.#stopLately && tries < BUSY_AFTER_STOP_TRIES) {
      const ticket = this.#ticket;
      await this.#pause(BUSY_AFTER_STOP_MS);
      if (ticket === this.#ticket) await this.#run(message, tries + 1);
      return;
    }
    if (outcome.type !== "superseded") this.#stopLately = false;
    await this.#conclude(outcome, message);
  }

  async #stop(): Promise<void> {
    const ticket = this.#ticket;
    const agent = this.#agent;
    if (agent === undefined) return;
    this.#nudge?.();
    this.deps.beforeRequest();
    try {
      await this.#askToStop(agent, ticket);
    } catch (error) {
      if (ticket !== this.#ticket || this.#phase !== "stopping") return; // It ended by itself: nothing is left to stop.
      this.#mark(undefined);
      this.#cut = false;
      this.#stopLately = false;
      const failure = failureOfThrown(error);
      this.deps.onFailure(failure);
      const shown: Failure = failure.code === "unauthorized" ? failure : { code: "stop_failed" };
      this.#show({ phase: "running", failure: shown, stoppedEmpty: false });
      return;
    }
    await this.#untilPhaseLeaves("stopping", STOP_PATIENCE_MS);
    if (ticket === this.#ticket && this.#phase === "stopping") {
      this.#ticket++;
      await letGo(agent);
      this.#settle();
    }
  }

  /** Until the server has it: a stop may overtake the run that it means, and then nothing runs yet. */
  async #askToStop(agent: HttpAgent, ticket: number): Promise<void> {
    const until = performance.now() + STOP_PATIENCE_MS;
    this.deps.core.stopAgent({ agent });
    let request = this.#stopRequest;
    while (!(await request) && ticket === this.#ticket && this.#phase === "stopping" && performance.now() < until) {
      await this.#pause(STOP_AGAIN_MS);
      request = this.deps.postStop();
    }
  }

  /** Bring the page up to date, and send again what the server does not have or could not answer. */
  async #resume(): Promise<void> {
    const message = this.#unanswered;
    const { failure } = this.view.get();
    if (message === undefined) {
      await this.#open();
      return;
    }
    this.#show({ phase: "reconnecting", failure: undefined });
    const outcome = await this.#connect();
    if (outcome.type !== "finished") {
      await this.#conclude(outcome, message);
      return;
    }
    const answerGoesOn = failure === undefined || isAway(failure) || failure.code === "unauthorized";
    const rows = buildRows(this.#rowInput());
    const newest = rows.findLast((row) => row.kind === "user");
    const answered = openAnswer(rows) !== undefined && answerGoesOn;
    // A message that the server has is answered anew under its id, unless the conversation went on without it.
    if (this.#has(message.id) && (answered || newest?.id !== message.id)) this.#settle();
    else await this.#send(message);
  }

  async #reattach(message: Outgoing | undefined, phase: "loading" | "reconnecting"): Promise<void> {
    const ticket = ++this.#ticket;
    let tries = 0;
    for (;;) {
      if (this.#phase !== "stopping") this.#show({ phase });
      await this.#pause(delayOf(tries, this.deps.reconnect ?? RECONNECT, Math.random()));
      if (ticket !== this.#ticket) return;
      const outcome = await this.#connect(ticket);
      if (outcome.type === "superseded") return;
      if (outcome.type === "finished" && message !== undefined && !this.#has(message.id)) {
        await this.#send(message);
        return;
      }
      const broken = outcome.type === "cut" || (outcome.type === "refused" && isAway(outcome.failure));
      if (!broken) {
        await this.#conclude(outcome, message);
        return;
      }
      tries = outcome.progressed ? 1 : tries + 1;
      if (tries === TRIES_UNTIL_TOLD) this.deps.onFailure(outcome.failure);
      if (tries > RECONNECT_TRIES || (phase === "loading" && tries > 2)) {
        this.#fail(phase === "loading" ? outcome.failure : { code: "connection_lost" });
        return;
      }
    }
  }

  async #conclude(outcome: Outcome, message: Outgoing | undefined): Promise<void> {
    switch (outcome.type) {
      case "superseded":
        return;
      case "finished":
        this.#settle();
        return;
      case "cut":
        await this.#reattach(message, "reconnecting");
        return;
      case "failed":
      case "refused":
        this.#fail(outcome.failure);
    }
  }

  #settle(): void {
    // Words that were on their way when the stop was clicked came after its mark.
    if (this.#cut) this.#markStopped();
    this.#cut = false;
    this.#unanswered = undefined;
    this.#outgoing = undefined;
    this.#stopAsked = undefined;
    this.#hold = undefined;
    this.#show({ phase: "idle", progress: new Map() });
    this.deps.onRunChange();
  }

  #fail(failure: Failure): void {
    this.#hold = undefined;
    this.#stopAsked = undefined;
    this.deps.onFailure(failure);
    this.#show({ phase: "idle", failure, progress: new Map() });
    this.deps.onRunChange();
  }

  // streams -------------------------------------------------------------------------------------------

  /** Attach to the thread as the server has it. What is on the screen stays until the replay has caught up. */
  async #connect(ticket?: number): Promise<Outcome> {
    return this.#stream(async (agent) => {
      const before = structuredClone(agent.messages);
      this.#hold = { weight: weightOf(this.view.get().rows), until: undefined };
      const watch = this.#watch;
      await this.deps.core.connectAgent({ agent });
      // A connect that brought nothing must not cost what was there.
      if (!watch.progressed && agent.messages.length < before.length) agent.setMessages(before);
    }, ticket);
  }

  async #stream(go: (agent: HttpAgent) => Promise<void>, ticket = ++this.#ticket): Promise<Outcome> {
    const agent = this.#agent;
    if (agent === undefined) return { type: "superseded" };
    await letGo(agent);
    if (ticket !== this.#ticket) return { type: "superseded" };
    agent.abortController = new AbortController();
    const watch: Watch = { progressed: false, end: undefined, error: undefined };
    this.#watch = watch;
    this.deps.beforeRequest();
    const streaming = go(agent).catch((error: unknown) => {
      watch.error ??= error;
    });
    this.#streaming = streaming;
    await streaming;
    if (ticket !== this.#ticket) return { type: "superseded" };
    return outcomeOf(watch);
  }

  #subscriber(): AgentSubscriber {
    return {
      onRunInitialized: () => {
        this.#watch.end = undefined;
        this.#schedule();
      },
      onRunStartedEvent: ({ event }) => {
        this.#seenRunId = event.runId;
        this.#watch.progressed = true;
      },
      onMessagesSnapshotEvent: () => {
        if (this.#hold !== undefined) this.#hold.until ??= performance.now() + CATCH_UP_MS;
        this.#schedule();
      },
      onEvent: ({ event }) => {
        if (LIVE_EVENTS.has(event.type)) this.#live();
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
        this.#custom(event.name, event.value);
      },
      onMessagesChanged: () => {
        this.#schedule();
      },
    };
  }

  /** Something is being written: a look at the thread has turned into watching a run. */
  #live(): void {
    if (this.#phase === "running" || this.#phase === "stopping") return;
    this.#show({ phase: "running", failure: undefined, stoppedEmpty: false });
  }

  #custom(name: string, value: unknown): void {
    if (name === "middle_core.run_cancelled") {
      this.#cut = true;
      this.#markStopped();
    } else if (name === "middle_core.progress") {
      const progress = readProgress(value);
      if (progress === undefined) return;
      this.#show({ progress: new Map(this.view.get().progress).set(progress.toolCallId ?? "", progress) });
    }
  }

  /** The answer that the stop cut carries the mark; where there is none, the view does. */
  #markStopped(): void {
    const answer = openAnswer(buildRows({ ...this.#rowInput(), outgoing: undefined }));
    this.#mark(answer);
    this.#show({ stoppedEmpty: answer === undefined && this.#outgoing === undefined });
  }

  /** One mark for each stop: it moves to the words that came after it. */
  #mark(answer: string | undefined): void {
    if (this.#marked !== undefined) this.#stopped.delete(this.#marked);
    if (answer !== undefined) this.#stopped.add(answer);
    this.#marked = answer;
  }

  // what is shown -------------------------------------------------------------------------------------

  #rowInput(): Parameters<typeof buildRows>[0] {
    const running = this.#phase === "running" || this.#phase === "reconnecting";
    return { messages: this.#agent?.messages ?? [], outgoing: this.#outgoing, running, stopped: this.#stopped };
  }

  #schedule(): void {
    if (this.#framePending) return;
    this.#framePending = true;
    this.deps.nextFrame(() => {
      this.#framePending = false;
      if (this.#agent !== undefined) this.#show({});
    });
  }

  #show(part: Partial<SessionView>): void {
    const before = this.view.get();
    const next = { ...before, ...part };
    this.view.set({ ...next, rows: this.#agent === undefined ? before.rows : this.#rows(next, before.rows) });
  }

  #rows(next: SessionView, before: readonly Row[]): readonly Row[] {
    const running = next.phase === "running" || next.phase === "reconnecting";
    const rows = buildRows({ ...this.#rowInput(), running }, before);
    const hold = this.#hold;
    if (hold === undefined) return rows;
    if (hold.until === undefined) return before;
    if (weightOf(rows) < hold.weight && performance.now() < hold.until) {
      this.#schedule();
      return before;
    }
    this.#hold = undefined;
    return rows;
  }

  // small helpers -------------------------------------------------------------------------------------

  #has(messageId: string): boolean {
    return this.#agent?.messages.some(({ id }) => id === messageId) ?? false;
  }

  /** Wait, or until something makes waiting pointless. */
  #pause(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      this.#nudge = done;
      function done(): void {
        clearTimeout(timer);
        resolve();
      }
    });
  }

  #untilPhaseLeaves(phase: Phase, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, withinMs);
      const unsubscribe = this.view.subscribe(() => {
        if (this.#phase !== phase) done();
      });
      function done(): void {
        clearTimeout(timer);
        unsubscribe();
        resolve();
      }
      if (this.#phase !== phase) done();
    });
  }

  /** Run to the end in the background. What fails on the way is a failure like any other. */
  #go(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#fail(failureOfThrown(error));
    });
  }
}

/** Events that only a running run sends. */
const LIVE_EVENTS: ReadonlySet<string> = new Set([
  "TEXT_MESSAGE_START",
  "TEXT_MESSAGE_CONTENT",
  "TOOL_CALL_START",
  "REASONING_START",
  "STEP_STARTED",
]);

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
