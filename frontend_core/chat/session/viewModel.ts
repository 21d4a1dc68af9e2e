/**
 * What the page shows of one thread, made from the agent's messages: at most once per frame, never fewer words
 * than before while a replay catches up, and with a mark on the answer that a stop has cut.
 *
 * It decides nothing and asks nobody; the session tells it.
 */

import type { Message } from "@ag-ui/core";
import type { Failure } from "../errors/failure";
import { NO_PANEL_GRAPH, type PanelGraph } from "../graph/runGraph";
import { Store } from "../ui/store";
import type { Progress } from "./progress";
import { buildRows, openAnswer, weightOf, type Row } from "./rows";

export type Phase = "loading" | "idle" | "running" | "reconnecting" | "stopping";

export interface SessionView {
  readonly phase: Phase;
  readonly rows: readonly Row[];
  readonly failure: Failure | undefined;
  /** What the server says it is doing, by tool call id, or "" for the run as a whole. */
  readonly progress: ReadonlyMap<string, Progress>;
  /** The state that the page and the agent share. */
  readonly state: Readonly<Record<string, unknown>>;
  /** The agent's graph, and what its nodes did in the newest run that was seen. */
  readonly graph: PanelGraph;
  /** The agent waits for a person's answer. */
  readonly asking: boolean;
  /** Stopped before the answer began: there is no message that could carry the mark. */
  readonly stoppedEmpty: boolean;
}

/** A message of the person, from the moment of sending. */
export interface Outgoing {
  readonly id: string;
  readonly text: string;
}

export interface ScreenDeps {
  /** The messages as they are now; undefined while there is no agent, and then the rows stay. */
  readonly messages: () => readonly Message[] | undefined;
  /** Whether the agent waits for a person's answer: its calls without a result wait, too. */
  readonly asking: () => boolean;
  readonly nextFrame: (callback: () => void) => void;
}

/** A replay may take this long to catch up with what is on the screen before the screen follows it. */
const CATCH_UP_MS = 600;

export class Screen {
  readonly view: Store<SessionView>;
  /** A message that is not yet among the agent's. */
  outgoing: Outgoing | undefined;
  readonly #stopped = new Set<string>();
  /** The message that carries the mark of the latest stop, while it may still move. */
  #marked: string | undefined;
  #hold: { readonly weight: number; until: number | undefined } | undefined;
  #framePending = false;

  constructor(
    private readonly deps: ScreenDeps,
    phase: Phase,
  ) {
    this.view = new Store<SessionView>({ phase, rows: [], failure: undefined, progress: new Map(), state: {}, graph: NO_PANEL_GRAPH, asking: false, stoppedEmpty: false });
  }

  get phase(): Phase {
    return this.view.get().phase;
  }

  /** Change what is shown, now, together with what the messages have become. */
  show(part: Partial<Omit<SessionView, "rows" | "asking">>): void {
    const before = this.view.get();
    const next = { ...before, ...part };
    this.view.set({ ...next, asking: this.deps.asking(), rows: this.#rowsFor(next.phase, before.rows) });
  }

  /** The messages have changed: show it with the next frame. */
  readonly follow = (): void => {
    if (this.#framePending) return;
    this.#framePending = true;
    this.deps.nextFrame(() => {
      this.#framePending = false;
      if (this.deps.messages() !== undefined) this.show({});
    });
  };

  /** The rows of the messages themselves, whatever is held back from the screen. */
  latest(): readonly Row[] {
    return buildRows({ messages: this.deps.messages() ?? [], running: false, stopped: this.#stopped });
  }

  /** A replay is about to begin: keep what is shown until it has caught up. */
  hold(): void {
    this.#hold = { weight: weightOf(this.view.get().rows), until: undefined };
  }

  /** The replay has begun to arrive. */
  replaying(): void {
    if (this.#hold !== undefined) this.#hold.until ??= performance.now() + CATCH_UP_MS;
  }

  release(): void {
    this.#hold = undefined;
  }

  /** Mark the answer that a stop cut. One mark for each stop: it moves to words that come after it. */
  markStopped(): void {
    const answer = openAnswer(this.latest());
    this.unmark();
    if (answer !== undefined) this.#stopped.add(answer);
    this.#marked = answer;
    this.show({ stoppedEmpty: answer === undefined && this.outgoing === undefined });
  }

  /** Nothing was stopped after all. */
  unmark(): void {
    if (this.#marked !== undefined) this.#stopped.delete(this.#marked);
    this.#marked = undefined;
  }

  /** The mark stays where it is: what comes from now on belongs to another run. */
  settleMark(): void {
    this.#marked = undefined;
  }

  #rowsFor(phase: Phase, before: readonly Row[]): readonly Row[] {
    const messages = this.deps.messages();
    if (messages === undefined) return before;
    const running = phase === "running" || phase === "reconnecting";
    const rows = buildRows({ messages, outgoing: this.outgoing, running, stopped: this.#stopped }, before);
    const hold = this.#hold;
    if (hold === undefined) return rows;
    if (hold.until === undefined) return before;
    if (weightOf(rows) < hold.weight && performance.now() < hold.until) {
      this.follow();
      return before;
    }
    this.#hold = undefined;
    return rows;
  }
}
