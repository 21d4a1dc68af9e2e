/**
 * One conversation on this page: what it does when people and networks interfere.
 *
 * It knows what follows from each way a stream may end (finished, failed, refused, cut): a cut is never the
 * person's problem while re-attaching works. The stream itself is `agentStream.ts`, what is shown `screen.ts`.
 */

import type { HttpAgent, Message, ResumeEntry } from "@ag-ui/client";
import type { CopilotKitCoreReact } from "@copilotkit/react-core/v2/headless";
import { CUSTOM, ERROR_CODE } from "../../contract";
import { failureOfThrown, isAway, type Failure } from "../errors/failure";
import { advanceGraph } from "../graph/runGraph";
import type { Store } from "../ui/store";
import { AgentStream, type Outcome } from "./agentStream";
import { delayOf, type Backoff } from "./backoff";
import { advance } from "./progress";
import { openAnswer } from "./rows";
import { Screen, type Outgoing, type SessionView } from "./viewModel";
import { Pause, whileHolds } from "./delays";

/** A person's answer to an open question of the agent. */
export interface GivenAnswer {
  /** Put it in; what the request carries as `resume`. */
  readonly give: (agent: HttpAgent) => ResumeEntry[] | undefined;
  /** It was refused: take it out again. */
  readonly undo: (agent: HttpAgent) => void;
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
  /** The messages with what became of the page's own tool calls. */
  readonly withOutcomes: (messages: readonly Message[]) => readonly Message[];
  readonly newId: () => string;
  readonly nextFrame: (callback: () => void) => void;
  /** The pauses between two tries to attach again; the default suits people. */
  readonly reconnect?: Backoff;
}

const RECONNECT = { firstMs: 400, maxMs: 6_000 };
/** About 40 s of trying; after that the person is told, and the health watch takes over. */
const RECONNECT_TRIES = 10;
/** A conversation that does not load is told sooner: nothing is on the screen yet. */
const LOAD_TRIES = 2;
/** After so many tries in vain the page asks whether the server is there at all. */
const TRIES_UNTIL_TOLD = 3;
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
  readonly #screen: Screen;
  readonly #stream: AgentStream;
  /** The last message of the person that has no whole answer yet: what Retry sends. */
  #unanswered: Outgoing | undefined;
  #known: boolean;
  #stopAsked: Promise<void> | undefined;
  /** The run on the screen was stopped, here or elsewhere. */
  #cut = false;
  /** A stop was asked for, and the next run may find its thread still busy for a moment. */
  #stopLately = false;
  readonly #pause = new Pause();

  constructor(private readonly deps: SessionDeps) {
    this.agentId = `thread:${deps.threadId}`;
    this.#known = deps.known;
    this.#stream = new AgentStream({
      ...deps,
      agentId: this.agentId,
      on: {
        changed: () => {
          this.#screen.follow();
        },
        snapshot: () => {
          this.#screen.replaying();
          this.#screen.follow();
        },
        live: () => {
          this.#live();
        },
        event: (event) => {
          this.#drawGraph(event);
        },
        custom: (name, value) => {
          this.#custom(name, value);
        },
        state: (state) => {
          this.#screen.show({ state });
        },
      },
    });
    this.#screen = new Screen(
      {
        messages: () => this.#stream.agent && deps.withOutcomes(this.#stream.agent.messages),
        asking: () => (this.#stream.agent?.pendingInterrupts.length ?? 0) > 0,
        nextFrame: deps.nextFrame,
      },
      deps.known ? "loading" : "idle",
    );
    this.view = this.#screen.view;
  }

  /** Whether the server may know this thread by now. */
  get known(): boolean {
    return this.#known;
  }

  /** The server's name of the newest run that this page has seen. */
  get seenRunId(): string | undefined {
    return this.#stream.seenRunId;
  }

  /** Take an agent from the core and load the thread. `dispose` undoes it; both may be repeated. */
  start(): void {
    this.#stream.open();
    if (this.#known) this.#go(this.#open());
  }

  /** Let go of the stream (the run goes on at the server) and of the agent. */
  dispose(): void {
    this.#pause.nudge();
    this.#go(this.#stream.close());
  }

  /** Send a message. False when this is not the moment: the text stays with the caller. */
  send(text: string): boolean {
    if (this.#screen.phase !== "idle" && this.#screen.phase !== "stopping") return false;
    if (text.trim() === "") return false;
    this.#go(this.#send({ id: this.deps.newId(), text }));
    return true;
  }

  /** Stop the answer that is being written. The view says so at once; the server is asked. */
  stop(): void {
    if (this.#screen.phase !== "running" && this.#screen.phase !== "reconnecting") return;
    this.#cut = true;
    this.#stopLately = true;
    this.#screen.show({ phase: "stopping", failure: undefined });
    this.#screen.markStopped();
    this.#stopAsked = this.#stop();
    this.#go(this.#stopAsked);
  }

  /** Answer an open question of the agent; the run that follows is read like any other. False when this is not the moment. */
  answer(answer: GivenAnswer): boolean {
    if (this.#screen.phase !== "idle") return false;
    this.#go(this.#answer(answer));
    return true;
  }

  /** Take back what the agent asks: it is told that nobody answers. */
  withdraw(): void {
    if (this.#screen.phase === "idle") this.#go(this.#withdraw());
  }

  /** Try again what failed: send the message again, or look at the thread again. */
  retry(): void {
    if (this.#screen.phase === "idle") this.#go(this.#resume());
  }

  /** The server is back, or the person signed in again: go on where a failure of that kind left off. */
  recovered(): void {
    const { failure, phase } = this.view.get();
    this.#pause.nudge();
    if (phase !== "idle" || failure === undefined) return;
    if (isAway(failure) || failure.code === ERROR_CODE.UNAUTHORIZED) this.#go(this.#resume());
  }

  /** Look at the thread again: a run was started elsewhere, or one has come and gone. */
  attach(): void {
    if (this.#screen.phase === "idle") this.#go(this.#attach());
  }

  /** Set a part of the state that is shared with the agent. It goes out with the next message. */
  readonly setState = (part: Readonly<Record<string, unknown>>): void => {
    this.#stream.agent?.setState({ ...this.view.get().state, ...part });
  };

  dismissFailure(): void {
    this.#screen.show({ failure: undefined });
  }

  // what the verbs above do ---------------------------------------------------------------------------

  async #open(): Promise<void> {
    this.#screen.show({ phase: "loading", failure: undefined });
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
    if (outcome.type === "finished" && unsent !== undefined && !this.#stream.has(unsent.id)) {
      // What failed to go out stays on the screen with its failure, below what came from elsewhere.
      this.#screen.outgoing = unsent;
      this.#screen.release();
      this.#screen.show({ phase: "idle", failure });
    } else {
      if (outcome.type === "finished") this.dismissFailure();
      await this.#conclude(outcome, undefined);
    }
  }

  async #send(message: Outgoing): Promise<void> {
    this.#screen.outgoing = message;
    this.#unanswered = message;
    this.#known = true;
    const stopping = this.#stopAsked;
    const ticket = this.#stream.supersede();
    this.#screen.show({ phase: "running", failure: undefined, stoppedEmpty: false, progress: new Map() });
    if (stopping !== undefined) {
      // A run that overtakes its own stop would be refused as busy; and the stopped answer may still get its last words.
      await stopping;
      await Promise.race([this.#stream.reading, this.#pause.for(LAST_WORDS_MS)]);
    }
    if (ticket === this.#stream.ticket) await this.#run(message);
  }

  async #run(message: Outgoing, tries = 0): Promise<void> {
    this.#cut = false;
    this.#screen.settleMark();
    const outcome = await this.#stream.read(async (agent) => {
      const place = agent.messages.findIndex(({ id }) => id === message.id);
      if (place === -1) agent.addMessage({ id: message.id, role: "user", content: message.text });
      else agent.setMessages(agent.messages.slice(0, place + 1));
      this.#screen.outgoing = undefined;
      // A message while cards are open withdraws them; the client refuses to send it without saying so.
      const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" as const }));
      this.deps.onRunChange();
      await this.deps.core.runAgent({ agent, ...(resume.length > 0 ? { resume } : {}) });
    });
    if (outcome.type === "superseded") return;
    const busy = "failure" in outcome && outcome.failure.code === ERROR_CODE.THREAD_BUSY;
    if (busy && this.#stopLately && tries < BUSY_AFTER_STOP_TRIES) {
      const { ticket } = this.#stream;
      await this.#pause.for(BUSY_AFTER_STOP_MS);
      if (ticket === this.#stream.ticket) await this.#run(message, tries + 1);
      return;
    }
    this.#stopLately = false;
    await this.#conclude(outcome, message);
  }

  async #answer({ give, undo }: GivenAnswer): Promise<void> {
    this.#cut = false;
    this.#screen.settleMark();
    this.#screen.show({ phase: "running", failure: undefined, stoppedEmpty: false, progress: new Map() });
    const outcome = await this.#stream.read(async (agent) => {
      const resume = give(agent);
      this.deps.onRunChange();
      await this.deps.core.runAgent({ agent, ...(resume === undefined ? {} : { resume }) });
    });
    if (outcome.type === "refused" || outcome.type === "failed") {
      if (this.#stream.agent !== undefined) undo(this.#stream.agent);
      // Somebody else's answer is being worked on: what comes of it is the answer here, too. And what was approved and got
      // lost with its server goes on when the thread is looked at, or comes back as a question.
      if (outcome.failure.code === ERROR_CODE.THREAD_BUSY || outcome.failure.code === ERROR_CODE.RUN_LOST) {
        await this.#reattach(undefined, "reconnecting");
        return;
      }
    }
    await this.#conclude(outcome, undefined);
  }

  async #withdraw(): Promise<void> {
    this.#screen.show({ phase: "reconnecting", failure: undefined });
    this.deps.beforeRequest();
    await this.deps.postStop();
    await this.#reattach(undefined, "reconnecting");
  }

  async #stop(): Promise<void> {
    const { ticket } = this.#stream;
    const mine = (): boolean => ticket === this.#stream.ticket && this.#screen.phase === "stopping";
    this.#pause.nudge();
    this.deps.beforeRequest();
    try {
      await this.#askToStop(mine);
    } catch (error) {
      if (!mine()) return; // It ended by itself: nothing is left to stop.
      this.#screen.unmark();
      this.#cut = false;
      this.#stopLately = false;
      const failure = failureOfThrown(error);
      this.deps.onFailure(failure);
      const shown: Failure = failure.code === ERROR_CODE.UNAUTHORIZED ? failure : { code: "stop_failed" };
      this.#screen.show({ phase: "running", failure: shown, stoppedEmpty: false });
      return;
    }
    await whileHolds(this.view, mine, STOP_PATIENCE_MS);
    if (!mine()) return;
    await this.#stream.leave();
    this.#settle();
  }

  /** Until the server has it: a stop may overtake the run that it means, and then nothing runs yet. */
  async #askToStop(mine: () => boolean): Promise<void> {
    const until = performance.now() + STOP_PATIENCE_MS;
    let stopped = await this.#stream.stop();
    while (!stopped && mine() && performance.now() < until) {
      await this.#pause.for(STOP_AGAIN_MS);
      stopped = await this.deps.postStop();
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
    this.#screen.show({ phase: "reconnecting", failure: undefined });
    const outcome = await this.#connect();
    if (outcome.type !== "finished") {
      await this.#conclude(outcome, message);
      return;
    }
    const answerGoesOn = failure === undefined || isAway(failure) || failure.code === ERROR_CODE.UNAUTHORIZED;
    const rows = this.#screen.latest();
    const newest = rows.findLast((row) => row.kind === "user");
    const answered = openAnswer(rows) !== undefined && answerGoesOn;
    // A message that the server has is answered anew under its id, unless the conversation went on without it.
    if (this.#stream.has(message.id) && (answered || newest?.id !== message.id)) this.#settle();
    else await this.#send(message);
  }

  async #reattach(message: Outgoing | undefined, phase: "loading" | "reconnecting"): Promise<void> {
    const ticket = this.#stream.supersede();
    const most = phase === "loading" ? LOAD_TRIES : RECONNECT_TRIES;
    let tries = 0;
    for (;;) {
      if (this.#screen.phase !== "stopping") this.#screen.show({ phase });
      await this.#pause.for(delayOf(tries, this.deps.reconnect ?? RECONNECT, Math.random()));
      if (ticket !== this.#stream.ticket) return;
      const outcome = await this.#connect(ticket);
      if (outcome.type === "superseded") return;
      if (outcome.type === "finished" && message !== undefined && !this.#stream.has(message.id)) {
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
      if (tries > most) {
        this.#fail(phase === "loading" ? outcome.failure : { code: "connection_lost" });
        return;
      }
    }
  }

  /** What is on the screen stays until the replay has caught up. */
  #connect(ticket?: number): Promise<Outcome> {
    this.#screen.hold();
    return this.#stream.connect(ticket);
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
    this.#screen.release();
    // Words that were on their way when the stop was clicked came after its mark.
    if (this.#cut) this.#screen.markStopped();
    this.#cut = false;
    this.#unanswered = undefined;
    this.#screen.outgoing = undefined;
    this.#stopAsked = undefined;
    this.#screen.show({ phase: "idle", progress: new Map() });
    this.deps.onRunChange();
  }

  #fail(failure: Failure): void {
    this.#screen.release();
    this.#stopAsked = undefined;
    this.deps.onFailure(failure);
    this.#screen.show({ phase: "idle", failure, progress: new Map() });
    this.deps.onRunChange();
  }

  // what the stream says ------------------------------------------------------------------------------

  /** Something is being written: a look at the thread has turned into watching a run. */
  #live(): void {
    if (this.#screen.phase === "running" || this.#screen.phase === "stopping") return;
    this.#screen.show({ phase: "running", failure: undefined, stoppedEmpty: false });
  }

  #custom(name: string, value: unknown): void {
    if (name === CUSTOM.RUN_CANCELLED) {
      this.#cut = true;
      this.#screen.markStopped();
    } else if (name === CUSTOM.PROGRESS) {
      this.#screen.show({ progress: advance(this.view.get().progress, value) });
    }
  }

  #drawGraph(event: Readonly<Record<string, unknown>>): void {
    const before = this.view.get().graph;
    const graph = advanceGraph(before, event);
    if (graph !== before) this.#screen.show({ graph });
  }

  /** Run to the end in the background. What fails on the way is a failure like any other. */
  #go(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#fail(failureOfThrown(error));
    });
  }
}
