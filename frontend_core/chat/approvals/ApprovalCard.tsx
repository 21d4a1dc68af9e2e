/**
 * One approval: what exactly will be done, in the server's words; what the model wrote, apart and marked as such; and
 * the person's two answers. Closed, it says what became of it and takes no answer.
 *
 * Every text is text, isolated from the direction of its surroundings. Focus comes here when the card appears, unless
 * somebody is typing; the way on by Tab meets the harmless answer first.
 */

import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { Button } from "../ui/Button";
import { AlertIcon, CheckIcon, QuestionIcon, Spinner, StopIcon } from "../ui/icons";
import { useNow } from "../ui/useNow";
import styles from "./approvals.module.css";
import { useArrival } from "./cardFocus";
import { asText, type Card, type Verdict } from "./approval";
import { AgreedList, FieldList } from "./FieldList";
import { draftOf, editsOf, isChanged, problemOf, type Draft } from "./fields";
import { isKey } from "../ui/keys";
import { lookOf, timeLeft, wordsOf, type Look } from "./cardStatus";

export interface Answer {
  readonly approved: boolean;
  readonly edits?: Readonly<Record<string, unknown>>;
}

/** Nothing came of it, nor of what was changed on it. */
const UNDONE: ReadonlySet<Look> = new Set(["rejected", "withdrawn", "expired"]);

interface ApprovalCardProps {
  readonly card: Card;
  readonly verdict: Verdict | undefined;
  /** This page's answer is under way. */
  readonly sent: boolean;
  /** The changes in it. */
  readonly sentEdits?: Readonly<Record<string, unknown>> | undefined;
  /** Something else goes on in the conversation: the answer has to wait for its end. */
  readonly busy: boolean;
  readonly onAnswer: (answer: Answer) => void;
  readonly onWithdraw: () => void;
  readonly onSay: (words: string) => void;
  /** It can be answered now; what it returns is called when it no longer can. */
  readonly onOpen: (interruptId: string) => () => void;
  /** How the page showed its cards last, by interrupt id: a card may be drawn anew elsewhere when it is answered. */
  readonly looks: Map<string, Look>;
}

export function ApprovalCard({ card, verdict, sent, sentEdits, busy, onAnswer, onWithdraw, onSay, onOpen, looks }: ApprovalCardProps) {
  const expired = useDeadline(card.answerBy);
  const look = lookOf({ card, verdict, sent, now: expired ? Infinity : 0 });
  const pending = look === "pending";
  const ref = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const { fields, fromModel } = card;
  const [drafts, setDrafts] = useState<Readonly<Record<string, Draft>>>(() => Object.fromEntries(fields.map((field) => [field.name, draftOf(field, fromModel[field.name])])));
  const [tried, setTried] = useState(false);
  const problems = Object.fromEntries(
    fields.map((field) => {
      const draft = drafts[field.name] ?? "";
      return [field.name, isChanged(field, draft, fromModel[field.name]) ? problemOf(field, draft) : undefined];
    }),
  );
  const fault = Object.values(problems).find((problem) => problem !== undefined);

  useArrival(ref, pending);
  useEffect(() => (pending ? onOpen(card.interruptId) : undefined), [pending, onOpen, card.interruptId]);
  useSaying(look, card, verdict, onSay, looks);

  const edits = UNDONE.has(look) ? {} : (verdict?.edits ?? sentEdits ?? {});

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
    const changes = editsOf(fields, drafts, fromModel);
    answer(changes === undefined ? { approved: true } : { approved: true, edits: changes });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isKey(event.nativeEvent, "Escape") || event.defaultPrevented || !pending || busy) return;
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
      {pending && fields.length > 0 && <p className={styles.proposes}>The assistant proposes this, and you can change it:</p>}
      {pending ? (
        <FieldList
          fields={fields}
          drafts={drafts}
          // A field is not blamed while it is being filled in for the first time, a list is: it says which of its texts is meant.
          problems={tried ? problems : Object.fromEntries(Object.entries(problems).filter(([name]) => typeof drafts[name] !== "string"))}
          disabled={busy}
          onChange={(name, draft) => {
            setDrafts((before) => ({ ...before, [name]: draft }));
          }}
        />
      ) : (
        <AgreedList
          fields={fields}
          title={UNDONE.has(look) ? "The assistant proposed" : "Agreed"}
          values={{ ...fromModel, ...edits }}
          changed={new Set(Object.keys(edits))}
        />
      )}
      <ModelsWords card={card} />
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
function ModelsWords({ card }: { readonly card: Card }) {
  const shown = new Set(card.fields.map(({ name }) => name));
  const words = Object.entries(card.fromModel).filter(([name, value]) => !shown.has(name) && value !== "" && value !== null);
  if (words.length === 0) return null;
  return (
    <div className={styles.model} data-testid="approval-model">
      <p>{card.state === "unknown" ? "What was approved" : "The assistant wrote"}</p>
      <dl>
        {words.map(([name, value]) => (
          <div key={name}>
            <dt>
              <bdi>{asText(name).replaceAll("_", " ")}</bdi>
            </dt>
            <dd>
              <bdi>{Array.isArray(value) && value.every((one) => typeof one === "string") ? value.map(asText).join("\n") : asText(value)}</bdi>
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
  if (look === "pending") return <QuestionIcon size={16} />;
  return <StopIcon size={16} />;
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

/** Tell a screen reader that it is asked, and what became of it: not of what was over before the page was there. */
function useSaying(look: Look, card: Card, verdict: Verdict | undefined, say: (words: string) => void, looks: Map<string, Look>): void {
  useEffect(() => {
    const earlier = looks.get(card.interruptId);
    if (earlier === look) return;
    looks.set(card.interruptId, look);
    if (look === "pending") say(`Your approval is needed: ${card.title}`);
    else if (earlier !== undefined) say(`${card.title} ${wordsOf(look, verdict)}`);
  }, [look, card, verdict, say, looks]);
}
