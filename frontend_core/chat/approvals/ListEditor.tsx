/** A list of texts, such as the steps of a plan: to be changed while the card is open, to be read afterwards. */

import { useEffect, useId, useRef } from "react";
import { IconButton } from "../ui/Button";
import { CloseIcon, PlusIcon } from "../ui/icons";
import styles from "./approvals.module.css";
import { moved, rewritten, withNew, without, type ListRules, type Step } from "./listEntries";

interface StepListProps {
  readonly steps: readonly Step[];
  /** What they are together. */
  readonly label: string;
  readonly rules: ListRules;
  /** Absent: read-only. */
  readonly onChange?: ((steps: readonly Step[]) => void) | undefined;
  readonly problem?: string | undefined;
}

export function StepList({ steps, label, rules, onChange, problem }: StepListProps) {
  const { noun, most, longest } = rules;
  const called = noun.charAt(0).toUpperCase() + noun.slice(1);
  const problemId = useId();
  const listRef = useRef<HTMLOListElement>(null);
  const added = useRef(false);

  useEffect(() => {
    if (!added.current) return;
    added.current = false;
    listRef.current?.querySelector<HTMLElement>("li:last-child textarea")?.focus();
  }, [steps]);

  if (onChange === undefined) {
    return (
      <ol className={styles.steps} aria-label={label} data-testid="plan-steps">
        {steps.map(({ key, text }) => (
          <li key={key}>
            <bdi>{text}</bdi>
          </li>
        ))}
      </ol>
    );
  }
  return (
    <div className={styles.editor}>
      <ol ref={listRef} className={styles.steps} aria-label={label} data-testid="plan-steps">
        {steps.map(({ key, text }, index) => (
          <li key={key} className={styles.step} data-testid="plan-step">
            <textarea
              dir="auto"
              rows={1}
              value={text}
              maxLength={Number.isFinite(longest) ? longest : undefined}
              aria-label={`${called} ${index + 1}`}
              aria-describedby={problem === undefined ? undefined : problemId}
              onChange={({ target }) => {
                onChange(rewritten(steps, key, target.value.replaceAll("\n", " ")));
              }}
            />
            <span className={styles.stepTools}>
              <IconButton
                label={`Move ${noun} ${index + 1} up`}
                disabled={index === 0}
                onClick={() => {
                  onChange(moved(steps, index, index - 1));
                }}
              >
                <Arrow up />
              </IconButton>
              <IconButton
                label={`Move ${noun} ${index + 1} down`}
                disabled={index === steps.length - 1}
                onClick={() => {
                  onChange(moved(steps, index, index + 1));
                }}
              >
                <Arrow />
              </IconButton>
              <IconButton
                label={`Remove ${noun} ${index + 1}`}
                onClick={() => {
                  onChange(without(steps, key));
                  listRef.current?.closest<HTMLElement>('[role="group"]')?.focus();
                }}
              >
                <CloseIcon size={15} />
              </IconButton>
            </span>
          </li>
        ))}
      </ol>
      <button
        type="button"
        className={styles.add}
        disabled={steps.length >= most}
        onClick={() => {
          added.current = true;
          onChange(withNew(steps));
        }}
      >
        <PlusIcon size={15} /> Add {noun === "entry" ? "an entry" : `a ${noun}`}
      </button>
      {problem !== undefined && (
        <p id={problemId} className={styles.problem} role="status" data-testid="plan-problem">
          {problem}
        </p>
      )}
    </div>
  );
}

function Arrow({ up = false }: { readonly up?: boolean }) {
  return (
    <svg aria-hidden="true" width="15" height="15" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" strokeLinejoin="round">
      <path d={up ? "M12 19V5M6 11l6-6 6 6" : "M12 5v14M6 13l6 6 6-6"} />
    </svg>
  );
}
