/**
 * One approval: what exactly will be done, in the server's words; what the model wrote, apart and marked as such; and
 * the person's two answers. Closed, it says what became of it and takes no answer.
 *
 * Every text is text, isolated from the direction of its surroundings. Focus comes here when the card appears, unless
 * somebody is typing; the way on by Tab meets the harmless answer first.
 */

import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "../ui/Button";
import { AlertIcon, CheckIcon, Spinner, StopIcon } from "../ui/icons";
import { useNow } from "../ui/useNow";
import styles from "./approvals.module.css";
import { asText, isRecord, parsed, type Card, type Verdict } from "./card";
import { lookOf, timeLeft, wordsOf, type Look } from "./look";
import { StepList } from "./StepList";
import { changesOf, problemOf, stepsOf, type Step } from "./steps";

export interface Answer {
  readonly approved: boolean;
  readonly edits?: Readonly<Record<string, unknown>>;
}

/** Nothing came of it, nor of what was changed on it. */
const UNDONE: ReadonlySet<Look> = new Set(["rejected", "withdrawn", "expired"]);

interface ApprovalCardProps {
  readonly card: Card;
  readonly verdict: Verdict | undefined;
  readonly sent: boolean;
  /** Something else goes on in the conversation: the answer has to wait for its end. */
  readonly busy: boolean;
  readonly onAnswer: (answer: Answer) => void;
  readonly onWithdraw: () => void;
  readonly onSay: (words: string) => void;
}

export function ApprovalCard({ card, verdict, sent, busy, onAnswer, onWithdraw, onSay }: ApprovalCardProps) {
  const expired = useDeadline(card.answerBy);
  const look = lookOf({ card, verdict, sent, now: expired ? Infinity : 0 });
  const pending = look === "pending";
  const ref = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const [listed] = card.editable.filter((name) => Array.isArray(card.fromModel[name]));
  const proposed = stepsOf(listed === undefined ? undefined : card.fromModel[listed]);
  const [steps, setSteps] = useState<readonly Step[]>(proposed);
  const [tried, setTried] = useState(false);
  const fault = listed === undefined ? undefined : problemOf(steps);

  useArrival(ref, pending);
  useSaying(look, card, verdict, onSay);

  const answer = (given: Answer): void => {
    ref.current?.focus({ preventScroll: true });
    onAnswer(given);
  };
  const approve = (): void => {
    setTried(true);
    if (fault !== undefined) {
      onSay(fault);
      return;
    }
    const changes = listed === undefined ? undefined : changesOf(steps, proposed);
    answer(listed === undefined || changes === undefined ? { approved: true } : { approved: true, edits: { [listed]: changes } });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented || !pending || busy) return;
    event.preventDefault();
    ref.current?.focus({ preventScroll: true });
    onWithdraw();
  };

  return (
    <div
      ref={ref}
      role="group"
      aria-labelledby={titleId}
      tabIndex={-1}
      className={styles.card}
      data-testid="approval-card"
      data-look={look}
      data-kind={card.kind}
      data-danger={card.danger}
      data-interrupt={card.interruptId}
      onKeyDown={onKeyDown}
    >
      <p id={titleId} className={styles.title}>
        <span className={styles.mark} data-look={look}>
          <LookIcon look={look} danger={card.danger} />
        </span>
        <bdi>{card.title}</bdi>
      </p>
      {!pending && (
        <p className={styles.outcome} data-testid="approval-outcome">
          <bdi>{wordsOf(look, verdict)}</bdi>
        </p>
      )}
      {pending && card.problem !== "" && (
        <p className={styles.problem} data-testid="approval-problem">
          <bdi>{card.problem}</bdi>
        </p>
      )}
      {card.facts.length > 0 && (
        <dl className={styles.facts} data-testid="approval-facts">
          {card.facts.map(({ label, value }) => (
            <div key={label}>
              <dt>
                <bdi>{label}</bdi>
              </dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {listed !== undefined &&
        (pending ? (
          <StepList steps={steps} onChange={busy ? undefined : setSteps} problem={tried || changesOf(steps, proposed) !== undefined ? fault : undefined} />
        ) : (
          <StepList steps={agreed(verdict, listed) ?? (UNDONE.has(look) ? proposed : steps)} />
        ))}
      <ModelsWords card={card} but={listed} />
      {pending && (
        <div className={styles.foot}>
          <Button disabled={busy} data-testid="approval-cancel" onClick={() => { answer({ approved: false }); }}>
            <bdi>{card.cancel}</bdi>
          </Button>
          <Button tone={card.danger ? "danger" : "primary"} disabled={busy} data-testid="approval-confirm" onClick={approve}>
            <bdi>{card.confirm}</bdi>
          </Button>
          <TimeLeft answerBy={card.answerBy} />
        </div>
      )}
    </div>
  );
}

/** What the model wrote, under its own heading: nobody should take it for what the system knows. */
function ModelsWords({ card, but }: { readonly card: Card; readonly but: string | undefined }) {
  const words = Object.entries(card.fromModel).filter(([name, value]) => name !== but && value !== "" && value !== null);
  if (words.length === 0) return null;
  return (
    <div className={styles.model} data-testid="approval-model">
      <p>The assistant wrote</p>
      <dl>
        {words.map(([name, value]) => (
          <div key={name}>
            <dt>
              <bdi>{asText(name).replaceAll("_", " ")}</bdi>
            </dt>
            <dd>
              <bdi>{asText(value)}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function TimeLeft({ answerBy }: { readonly answerBy: number | undefined }) {
  const words = timeLeft(answerBy, useNow(1_000));
  return words === "" ? null : (
    <span className={styles.time} role="timer" aria-live="off" data-testid="approval-time">
      {words}
    </span>
  );
}

function LookIcon({ look, danger }: { readonly look: Look; readonly danger: boolean }) {
  if (look === "sending" || look === "approved") return <Spinner size={16} />;
  if (look === "executed") return <CheckIcon size={16} />;
  if (look === "failed" || look === "indeterminate" || (look === "pending" && danger)) return <AlertIcon size={16} />;
  if (look === "pending") return <QuestionIcon />;
  return <StopIcon size={16} />;
}

function QuestionIcon() {
  return (
    <svg aria-hidden="true" width="16" height="16" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
      <circle cx="12" cy="12" r="8.5" />
      <path d="M9.6 9.6a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.8M12 16.6v.1" />
    </svg>
  );
}

/** The steps that were agreed on, where the outcome tells them. */
function agreed(verdict: Verdict | undefined, name: string): readonly Step[] | undefined {
  const told = verdict?.status === "executed" ? parsed(verdict.message) : undefined;
  const steps = isRecord(told) ? stepsOf(told[name]) : [];
  return steps.length > 0 ? steps : undefined;
}

/** Whether the time is over, by this machine's clock. The server decides by its own. */
function useDeadline(answerBy: number | undefined): boolean {
  const [over, setOver] = useState(() => answerBy !== undefined && Date.now() >= answerBy);
  useEffect(() => {
    if (answerBy === undefined || over) return;
    const timer = setTimeout(
      () => {
        setOver(true);
      },
      Math.min(Math.max(0, answerBy - Date.now()), 2_000_000_000),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [answerBy, over]);
  return over;
}

/** Focus comes to an open card when it appears, unless somebody is typing or is at another card. */
function useArrival(ref: React.RefObject<HTMLElement | null>, pending: boolean): void {
  useEffect(() => {
    if (!pending) return;
    const active = document.activeElement;
    const idle = active === null || active === document.body || ((active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) && active.value === "");
    if (idle) ref.current?.focus({ preventScroll: true });
  }, [ref, pending]);
}

/** Tell a screen reader that it is asked, and what became of it: not of what was over before the page was there. */
function useSaying(look: Look, card: Card, verdict: Verdict | undefined, say: (words: string) => void): void {
  const before = useRef<Look>(undefined);
  useEffect(() => {
    const earlier = before.current;
    if (earlier === look) return;
    before.current = look;
    if (look === "pending") say(`Your approval is needed: ${card.title}`);
    else if (earlier !== undefined) say(`${card.title} ${wordsOf(look, verdict)}`);
  }, [look, card, verdict, say]);
}
