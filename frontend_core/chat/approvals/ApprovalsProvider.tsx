/**
 * What a person is asked in a conversation: approvals by CopilotKit's card tool (`useHumanInTheLoop`) or as its interrupts
 * (`useInterrupt`), whichever this tab uses, and a graph's own questions, which are always interrupts. Answered through
 * the session, which sees what becomes of the answer.
 *
 * CopilotKit asks about one card at a time and sends several interrupts' answers together. Here each card is answered
 * by itself, in any order: an answer is one message, or one entry of `resume`, and a run that follows from it.
 */

import type { Interrupt } from "@ag-ui/client";
import { useCopilotKit, useHumanInTheLoop, useInterrupt } from "@copilotkit/react-core/v2/headless";
import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import type { SessionView } from "../session/viewModel";
import type { ThreadSession } from "../session/threadSession";
import { useStore } from "../ui/store";
import { ApprovalCard, type Answer } from "./ApprovalCard";
import { byCard, byInterrupt, type Given } from "./answer";
import { useFocusKept } from "./cardFocus";
import { CARD_TOOL, MARK } from "../../contract";
import { isRecord, newest, readCard, readVerdict, type Card } from "./approval";
import { channelOf, type Channel } from "./channel";
import { Ledger, type Known } from "./approvalStore";
import type { Look } from "./cardStatus";
import { readQuestion } from "./question";
import { QuestionCard } from "./QuestionCard";

interface Desk {
  readonly agentId: string;
  readonly channel: Channel;
  readonly ledger: Ledger;
  readonly known: Known;
  readonly busy: boolean;
  readonly answer: (card: Card, answer: Answer) => void;
  /** Answer a graph's own question, or tell it that there is no answer. */
  readonly reply: (interruptId: string, reply: { readonly payload: unknown } | "cancelled") => void;
  readonly withdraw: () => void;
  readonly say: (words: string) => void;
  readonly looks: Map<string, Look>;
}

const DeskContext = createContext<Desk | undefined>(undefined);

interface ApprovalsProps {
  readonly session: ThreadSession;
  readonly view: SessionView;
  readonly signedIn: boolean;
  readonly children: ReactNode;
}

export function Approvals({ session, view, signedIn, children }: ApprovalsProps) {
  const { copilotkit } = useCopilotKit();
  const [ledger] = useState(() => new Ledger());
  const [channel] = useState(() => channelOf(window.location.search, sessionStorage));
  const [words, say] = useState("");
  const [looks] = useState(() => new Map<string, Look>());
  const known = useStore(ledger.known);
  useFocusKept(known, view.rows, view.phase);

  const { agentId } = session;
  useEffect(() => {
    // The session has registered its agent by now: it is our parent's doing, and agents come and go with it.
    let unfollow: (() => void) | undefined;
    const follow = (): void => {
      unfollow?.();
      // Asked only for what is there: CopilotKit warns in the console of an agent that it does not have.
      const agent = Object.hasOwn(copilotkit.agents, agentId) ? copilotkit.getAgent(agentId) : undefined;
      unfollow = agent === undefined ? undefined : ledger.follow(agent);
    };
    follow();
    const subscription = copilotkit.subscribe({ onAgentsChanged: follow });
    return () => {
      subscription.unsubscribe();
      unfollow?.();
    };
  }, [copilotkit, agentId, ledger]);

  const give = useCallback(
    (id: string, given: Given, edits?: Answer["edits"]) => {
      const began = session.answer({
        give: (agent) => {
          const resume = given.give(agent);
          ledger.release(id);
          return resume;
        },
        undo: (agent) => {
          given.undo(agent);
          ledger.unsend(id);
        },
      });
      if (began) ledger.send(id, edits);
    },
    [ledger, session],
  );
  const answer = useCallback(
    ({ interruptId }: Card, given: Answer) => {
      give(interruptId, channel === "card" ? byCard(interruptId, given) : byInterrupt(interruptId, { payload: given }), given.edits);
    },
    [channel, give],
  );
  const reply = useCallback(
    (interruptId: string, given: { readonly payload: unknown } | "cancelled") => {
      give(interruptId, byInterrupt(interruptId, given));
    },
    [give],
  );
  const withdraw = useCallback(() => {
    session.withdraw();
  }, [session]);

  const busy = view.phase !== "idle" || !signedIn;
  const desk = useMemo(
    () => ({ agentId, channel, ledger, known, busy, answer, reply, withdraw, say, looks }),
    [agentId, channel, ledger, known, busy, answer, reply, withdraw, looks],
  );
  return (
    <DeskContext value={desk}>
      {channel === "card" && <CardTool />}
      {children}
      <p className="sr-only" role="status" aria-live="polite" data-testid="approval-announcement">
        {words}
      </p>
    </DeskContext>
  );
}

/** The page's card tool. The server calls it; the model is never given it. */
function CardTool() {
  useHumanInTheLoop(
    {
      name: CARD_TOOL,
      description: "Shows the user what they have to approve, and returns what they answered.",
      // The session sends the answer, and reads what follows from it.
      followUp: false,
      render: ({ toolCallId, args, result, respond }) => <CalledCard toolCallId={toolCallId} args={args} result={result} respond={respond} />,
    },
    [],
  );
  return null;
}

interface CalledCardProps {
  readonly toolCallId: string;
  readonly args: unknown;
  readonly result: string | undefined;
  readonly respond: ((result: unknown) => Promise<void>) | undefined;
}

function CalledCard({ toolCallId, args, result, respond }: CalledCardProps) {
  const { ledger } = useDesk();
  const card = useMemo(() => readCard(args), [args]);

  useEffect(() => {
    ledger.see(card);
  }, [ledger, card]);
  useEffect(() => {
    if (respond !== undefined) ledger.waits(toolCallId, () => void respond(""));
  }, [ledger, toolCallId, respond]);

  return card === undefined ? null : <Drawn card={card} result={result} />;
}

/** Whether anything waits for the person's answer on this screen, and how to take all of it back. */
export function useWaiting(): { readonly waiting: boolean; readonly withdraw: () => void } {
  const { known, busy, withdraw } = useDesk();
  return { waiting: known.open.size > 0 && !busy, withdraw };
}

/** The open questions that came as interrupts. Stands below the last message. */
export function OpenInterrupts() {
  const { agentId } = useDesk();
  const { copilotkit } = useCopilotKit();
  const [ready, setReady] = useState(false);

  useEffect(() => {
    const look = (): void => {
      // `getAgent` would complain in the console of an agent that is not there yet.
      setReady(Object.hasOwn(copilotkit.agents, agentId));
    };
    look();
    const subscription = copilotkit.subscribe({ onAgentsChanged: look });
    return () => {
      subscription.unsubscribe();
    };
  }, [copilotkit, agentId]);

  return ready ? <Interrupts agentId={agentId} /> : null;
}

function Interrupts({ agentId }: { readonly agentId: string }) {
  return useInterrupt({
    agentId,
    renderInChat: false,
    render: ({ interrupts }) => (
      <>
        {interrupts.map((interrupt) => {
          const card = readCard(interrupt.metadata?.[MARK]);
          return card === undefined ? <OpenQuestion key={interrupt.id} interrupt={interrupt} /> : <OpenCard key={interrupt.id} card={card} />;
        })}
      </>
    ),
  });
}

function OpenCard({ card }: { readonly card: Card }) {
  const { known } = useDesk();
  return isOpen(known, card.interruptId) ? <Drawn card={card} /> : null;
}

function OpenQuestion({ interrupt }: { readonly interrupt: Interrupt }) {
  const { known } = useDesk();
  return isOpen(known, interrupt.id) ? <Asked interrupt={interrupt} /> : null;
}

function Asked({ interrupt: { id, message, responseSchema, metadata } }: { readonly interrupt: Interrupt }) {
  const { ledger, busy, reply, withdraw, say } = useDesk();
  const given: unknown = isRecord(metadata?.langgraph) ? metadata.langgraph.raw : undefined;
  const question = useMemo(() => readQuestion(given ?? message, responseSchema), [given, message, responseSchema]);
  useEffect(() => ledger.opened(id), [ledger, id]);
  return (
    <QuestionCard
      interruptId={id}
      question={question}
      busy={busy}
      onAnswer={(payload) => {
        reply(id, { payload });
      }}
      onCancel={() => {
        reply(id, "cancelled");
      }}
      onWithdraw={withdraw}
      onSay={say}
    />
  );
}

/** Stands in place of a guarded call's own line while a card tells of it. */
export function Guarded({ callId, children }: { readonly callId: string; readonly children: ReactNode }) {
  const desk = useContext(DeskContext);
  const about = desk === undefined ? [] : [...desk.known.cards.values()].filter((card) => card.toolCallId === callId);
  if (desk === undefined || about.length === 0) return children;
  if (desk.channel === "card") return null;
  return about.filter((card) => !isOpen(desk.known, card.interruptId)).map((card) => <Drawn key={card.interruptId} card={card} />);
}

function Drawn({ card, result }: { readonly card: Card; readonly result?: string | undefined }) {
  const { ledger, known, busy, answer, withdraw, say, looks } = useDesk();
  const { interruptId } = card;
  const told = readVerdict(result);
  const verdict = newest(told, known.verdicts.get(interruptId));
  // A result without a verdict is this page's own answer, still alone.
  const sent = known.sent.has(interruptId) || (result !== undefined && told === undefined);
  return (
    <ApprovalCard
      card={card}
      verdict={verdict}
      sent={sent}
      sentEdits={known.sent.get(interruptId)}
      busy={busy}
      onAnswer={(given) => {
        answer(card, given);
      }}
      onWithdraw={withdraw}
      onSay={say}
      onOpen={ledger.opened}
      looks={looks}
    />
  );
}

function isOpen(known: Known, interruptId: string): boolean {
  const status = known.verdicts.get(interruptId)?.status ?? "pending";
  return status === "pending" && !known.sent.has(interruptId);
}

function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error("An approval is drawn inside <Approvals> only.");
  return desk;
}
