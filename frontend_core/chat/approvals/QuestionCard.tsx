/**
 * A graph's own question that no team has drawn a card for: the words, what else it gave as data, and a way to answer.
 * When it is over it stands in the conversation where it was asked, with its answer.
 *
 * All of it is shown as text: the graph may have it from a model.
 */

import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "../ui/Button";
import { CheckIcon, QuestionIcon, StopIcon } from "../ui/icons";
import styles from "./approvals.module.css";
import { useArrival } from "./cardFocus";
import { valueOfTyped, type Asked, type Question } from "./question";
import { isKey } from "../ui/keys";

interface QuestionCardProps {
  readonly interruptId: string;
  readonly question: Question;
  readonly busy: boolean;
  readonly onAnswer: (value: unknown) => void;
  /** The graph is told that it gets no answer, and goes on. */
  readonly onCancel: () => void;
  readonly onWithdraw: () => void;
  readonly onSay: (words: string) => void;
}

export function QuestionCard({ interruptId, question, busy, onAnswer, onCancel, onWithdraw, onSay }: QuestionCardProps) {
  const { words, choices, wanted } = question;
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string>();
  const ref = useRef<HTMLDivElement>(null);
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  const id = useId();

  useArrival(ref, true);
  useEffect(() => {
    onSay(`You are asked: ${words}`);
  }, [words, onSay]);

  const send = (): void => {
    if (busy) return;
    const answer = valueOfTyped(wanted, typed);
    if ("problem" in answer) {
      setProblem(answer.problem);
      fieldRef.current?.focus();
    } else onAnswer(answer.value);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return;
    if (isKey(event.nativeEvent, "Escape") && !busy) {
      event.preventDefault();
      onWithdraw();
    } else if (isKey(event.nativeEvent, "Enter") && !event.shiftKey && event.target === fieldRef.current) {
      event.preventDefault();
      send();
    }
  };

  return (
    <Frame ref={ref} interruptId={interruptId} look="pending" words={words} icon={<QuestionIcon size={16} />} onKeyDown={onKeyDown}>
      <Data json={question.data} />
      {choices.length > 0 ? (
        <div className={styles.choices} role="group" aria-label="Answers">
          {choices.map(({ label, value }, place) => (
            <Button key={place} disabled={busy} data-testid="question-choice" onClick={() => { onAnswer(value); }}>
              <bdi>{label}</bdi>
            </Button>
          ))}
        </div>
      ) : (
        <div className={styles.answer}>
          <label htmlFor={id}>{wanted === "json" ? "Your answer, as JSON" : "Your answer"}</label>
          <textarea
            ref={fieldRef}
            id={id}
            dir="auto"
            rows={1}
            value={typed}
            inputMode={wanted === "integer" ? "numeric" : wanted === "number" ? "decimal" : undefined}
            enterKeyHint="send"
            data-testid="question-input"
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : `${id}-problem`}
            onChange={({ target }) => {
              setTyped(target.value);
              setProblem(undefined);
            }}
          />
          {problem !== undefined && (
            <p id={`${id}-problem`} className={styles.problem} role="status" data-testid="question-problem">
              {problem}
            </p>
          )}
        </div>
      )}
      <div className={styles.foot}>
        <Button disabled={busy} data-testid="question-cancel" onClick={onCancel}>
          Cancel
        </Button>
        {choices.length === 0 && (
          <Button tone="primary" disabled={busy} data-testid="question-send" onClick={send}>
            Answer
          </Button>
        )}
      </div>
    </Frame>
  );
}

const OVER: Readonly<Record<string, string>> = { rejected: "Cancelled without an answer.", withdrawn: "Withdrawn without an answer." };

export function AskedCard({ asked }: { readonly asked: Asked }) {
  const { interruptId, status, question, answer } = asked;
  const answered = answer !== undefined;
  return (
    <Frame interruptId={interruptId} look={answered ? "executed" : "rejected"} words={question.words} icon={answered ? <CheckIcon size={16} /> : <StopIcon size={16} />}>
      <p className={styles.outcome} data-testid="question-outcome">
        {answered ? (
          <>
            You answered: <bdi>{answer}</bdi>
          </>
        ) : (
          (OVER[status] ?? "It was not answered.")
        )}
      </p>
    </Frame>
  );
}

interface FrameProps {
  readonly interruptId: string;
  readonly look: string;
  readonly words: string;
  readonly icon: ReactNode;
  readonly children: ReactNode;
  readonly ref?: React.Ref<HTMLDivElement>;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

function Frame({ interruptId, look, words, icon, children, ref, onKeyDown }: FrameProps) {
  const titleId = useId();
  return (
    <div ref={ref} role="group" aria-labelledby={titleId} tabIndex={-1} className={styles.card} data-testid="question-card" data-look={look} data-interrupt={interruptId} onKeyDown={onKeyDown}>
      <p id={titleId} className={styles.title}>
        <span className={styles.mark} data-look={look}>
          {icon}
        </span>
        <bdi className={styles.words}>{words}</bdi>
      </p>
      {children}
    </div>
  );
}

function Data({ json }: { readonly json: string }) {
  if (json === "") return null;
  return (
    <pre className={styles.data} tabIndex={0} aria-label="Data of the question" data-testid="question-data">
      <bdi>{json}</bdi>
    </pre>
  );
}
