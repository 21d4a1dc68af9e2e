/**
 * Approvals in a conversation: by CopilotKit's card tool (`useHumanInTheLoop`) or as its interrupts (`useInterrupt`),
 * whichever this tab uses; drawn by one card, answered through the session, which sees what becomes of the answer.
 *
 * CopilotKit asks about one card at a time and sends several interrupts' answers together. Here each card is answered
 * by itself, in any order: an answer is one message, or one entry of `resume`, and a run that follows from it.
 */

import { useCopilotKit, useHumanInTheLoop, useInterrupt } from "@copilotkit/react-core/v2/headless";
import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import type { SessionView } from "../session/screen";
import type { ThreadSession } from "../session/threadSession";
import { useStore } from "../ui/store";
import { ApprovalCard, type Answer } from "./ApprovalCard";
import { answerOf } from "./answer";
import { CARD_TOOL, MARK, newest, readCard, readVerdict, type Card } from "./card";
import { channelOf, type Channel } from "./channel";
import { Ledger, type Known } from "./ledger";

interface Desk {
  readonly agentId: string;
  readonly channel: Channel;
  readonly ledger: Ledger;
  readonly known: Known;
  readonly busy: boolean;
  readonly answer: (card: Card, answer: Answer) => void;
  readonly withdraw: () => void;
  readonly say: (words: string) => void;
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
  const known = useStore(ledger.known);

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

  const answer = useCallback(
    (card: Card, given: Answer) => {
      const id = card.interruptId;
      const { give, undo } = answerOf(channel, id, given);
      const began = session.answer({
        give: (agent) => {
          const resume = give(agent);
          ledger.release(id);
          return resume;
        },
        undo: (agent) => {
          undo(agent);
          ledger.unsend(id);
        },
      });
      if (began) ledger.send(id);
    },
    [channel, ledger, session],
  );
  const withdraw = useCallback(() => {
    session.withdraw();
  }, [session]);

  const busy = view.phase !== "idle" || !signedIn;
  const desk = useMemo(() => ({ agentId, channel, ledger, known, busy, answer, withdraw, say }), [agentId, channel, ledger, known, busy, answer, withdraw]);
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

/** The open questions that came as interrupts. Stands below the last message. */
export function OpenInterrupts() {
  const { agentId, channel } = useDesk();
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

  return channel === "interrupt" && ready ? <Interrupts agentId={agentId} /> : null;
}

function Interrupts({ agentId }: { readonly agentId: string }) {
  return useInterrupt({
    agentId,
    renderInChat: false,
    render: ({ interrupts }) => (
      <>
        {interrupts.map(({ id, metadata }) => {
          const card = readCard(metadata?.[MARK]);
          return card === undefined ? null : <OpenCard key={id} card={card} />;
        })}
      </>
    ),
  });
}

function OpenCard({ card }: { readonly card: Card }) {
  const { known } = useDesk();
  return isOpen(known, card) ? <Drawn card={card} /> : null;
}

/** Stands in place of a guarded call's own line while a card tells of it. */
export function Guarded({ callId, children }: { readonly callId: string; readonly children: ReactNode }) {
  const desk = useContext(DeskContext);
  const about = desk === undefined ? [] : [...desk.known.cards.values()].filter((card) => card.toolCallId === callId);
  if (desk === undefined || about.length === 0) return children;
  if (desk.channel === "card") return null;
  return about.filter((card) => !isOpen(desk.known, card)).map((card) => <Drawn key={card.interruptId} card={card} />);
}

function Drawn({ card, result }: { readonly card: Card; readonly result?: string | undefined }) {
  const { known, busy, answer, withdraw, say } = useDesk();
  const told = readVerdict(result);
  const verdict = newest(told, known.verdicts.get(card.interruptId));
  // A result without a verdict is this page's own answer, still alone.
  const sent = known.sent.has(card.interruptId) || (result !== undefined && told === undefined);
  return (
    <ApprovalCard
      card={card}
      verdict={verdict}
      sent={sent}
      busy={busy}
      onAnswer={(given) => {
        answer(card, given);
      }}
      onWithdraw={withdraw}
      onSay={say}
    />
  );
}

function isOpen(known: Known, { interruptId }: Card): boolean {
  const status = known.verdicts.get(interruptId)?.status ?? "pending";
  return status === "pending" && !known.sent.has(interruptId);
}

function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error("An approval is drawn inside <Approvals> only.");
  return desk;
}
