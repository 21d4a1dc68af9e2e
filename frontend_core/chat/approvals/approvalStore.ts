/**
 * What this page knows of the approvals of one thread beyond its messages: what the stream told of them, which of its
 * own answers are under way, and which one CopilotKit's card tool waits for.
 *
 * It feeds on the agent's events. The server's rows decide; this only remembers what they said.
 */

import type { AbstractAgent } from "@ag-ui/client";
import { Store } from "../ui/store";
import { CARD_TOOL, CUSTOM, MARK } from "../../contract";
import { isRecord, newest, readCard, readVerdict, type Card, type Verdict } from "./approval";

type Edits = Readonly<Record<string, unknown>>;

export interface Known {
  /** By interrupt id. */
  readonly cards: ReadonlyMap<string, Card>;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** Interrupt ids whose answer was sent and not heard of since, with the changes in it. */
  readonly sent: ReadonlyMap<string, Edits | undefined>;
  /** Interrupt ids that are on the screen and can be answered. */
  readonly open: ReadonlySet<string>;
}

export class Ledger {
  readonly known = new Store<Known>({ cards: new Map(), verdicts: new Map(), sent: new Map(), open: new Set() });
  /** The call that the card tool waits for, and how to let it go. */
  #waiting: { readonly id: string; readonly release: () => void } | undefined;

  /** Follow the agent's events; the result ends it. */
  follow(agent: AbstractAgent): () => void {
    const subscription = agent.subscribe({
      onCustomEvent: ({ event }) => {
        const value: unknown = event.value;
        if (event.name === CUSTOM.INTERRUPT_RESOLVED && isRecord(value)) this.#tell(value.interruptId, readVerdict(value));
      },
      onRunFinishedEvent: ({ event }) => {
        if (event.outcome?.type !== "interrupt") return;
        for (const { id, metadata } of event.outcome.interrupts) {
          this.see(readCard(metadata?.[MARK]));
          this.unsend(id); // Still open: an answer that was under way never arrived.
        }
      },
      onToolCallResultEvent: ({ event }) => {
        this.#tell(event.toolCallId, readVerdict(event.content));
      },
      onMessagesSnapshotEvent: ({ event }) => {
        const answered = new Set(event.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
        for (const message of event.messages) {
          if (message.role === "assistant") {
            for (const call of message.toolCalls ?? []) if (call.function.name === CARD_TOOL && !answered.has(call.id)) this.unsend(call.id);
          }
          if (message.role === "activity") this.#tell(message.content.interruptId, readVerdict(message.content));
          if (message.role !== "tool") continue;
          this.#tell(message.toolCallId, readVerdict(message.content));
          const told: unknown = "metadata" in message && isRecord(message.metadata) ? message.metadata[MARK] : undefined;
          const card = readCard(told);
          this.see(card);
          this.#tell(card?.interruptId, readVerdict(told));
        }
      },
    });
    return () => {
      subscription.unsubscribe();
      this.#release();
    };
  }

  see(card: Card | undefined): void {
    const { cards } = this.known.get();
    if (card === undefined || cards.has(card.interruptId)) return;
    this.known.set({ ...this.known.get(), cards: new Map(cards).set(card.interruptId, card) });
  }

  /** It is on the screen and can be answered; the result says that it is so no longer. */
  readonly opened = (id: string): (() => void) => {
    this.known.set({ ...this.known.get(), open: new Set(this.known.get().open).add(id) });
    return () => {
      this.known.set({ ...this.known.get(), open: new Set([...this.known.get().open].filter((one) => one !== id)) });
    };
  };

  /** An answer goes out. */
  send(id: string, edits?: Edits): void {
    this.known.set({ ...this.known.get(), sent: new Map(this.known.get().sent).set(id, edits) });
  }

  /** It did not arrive. */
  unsend(id: string): void {
    if (!this.known.get().sent.has(id)) return;
    this.known.set({ ...this.known.get(), sent: new Map([...this.known.get().sent].filter(([one]) => one !== id)) });
  }

  /** CopilotKit's card tool waits for this call. What it is given does not matter: the answer stands in a message by then. */
  waits(id: string, release: () => void): void {
    this.#waiting = { id, release };
    if (this.known.get().verdicts.has(id)) this.release(id);
  }

  /** Let the card tool go if it waits for this call. */
  release(id: string): void {
    if (this.#waiting?.id === id) this.#release();
  }

  #tell(id: unknown, verdict: Verdict | undefined): void {
    if (typeof id !== "string" || verdict === undefined) return;
    const { verdicts } = this.known.get();
    const told = newest(verdicts.get(id), verdict);
    if (told === undefined || told === verdicts.get(id)) return;
    this.known.set({ ...this.known.get(), verdicts: new Map(verdicts).set(id, told) });
    if (verdict.status !== "pending") this.release(id);
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.release();
  }
}
