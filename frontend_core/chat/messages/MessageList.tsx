/** The conversation: its rows, what is going on right now, and what went wrong. */

import { useEffect, type ReactNode } from "react";
import { ERROR_CODE } from "../../contract";
import { AskedCard } from "../approvals/QuestionCard";
import type { SessionView } from "../session/viewModel";
import { ArrowDownIcon } from "../ui/icons";
import { AssistantMessage, StoppedMark } from "./AssistantMessage";
import { ErrorCard } from "./ErrorCard";
import styles from "./messages.module.css";
import { UserMessage } from "./UserMessage";
import { useStickToEnd } from "./useStickToEnd";

interface MessageListProps {
  readonly view: SessionView;
  readonly welcome: ReactNode;
  /** The panel of an expired session stands elsewhere: no card says it twice. */
  readonly signedIn: boolean;
  readonly onRetry: () => void;
  readonly onDismiss: () => void;
  /** Asks for the rest of an answer that was cut off. */
  readonly onGoOn: () => void;
  /** Stands below the last message. */
  readonly children?: ReactNode;
}

export function MessageList({ view, welcome, signedIn, onRetry, onDismiss, onGoOn, children }: MessageListProps) {
  const { scrollRef, contentRef, atEnd, toEnd } = useStickToEnd(view);
  const { rows, phase } = view;
  const failure = signedIn || view.failure?.code !== ERROR_CODE.UNAUTHORIZED ? view.failure : undefined;
  const lastRow = rows.at(-1);
  const lastUser = rows.findLast((row) => row.kind === "user")?.id;

  useEffect(() => {
    // Whoever sends wants to see what comes.
    if (lastUser !== undefined) toEnd();
  }, [lastUser, toEnd]);

  // A conversation that could not be loaded is not an empty one, whoever tells the failure.
  const empty = rows.length === 0 && view.failure === undefined;
  const activity = activityOf(view);
  return (
    <div className={styles.frame}>
      <div ref={scrollRef} className={styles.scroll} tabIndex={-1} aria-busy={phase === "loading" || phase === "running"} role="region" aria-label="Conversation">
        {empty && phase === "idle" ? (
          welcome
        ) : (
          <div ref={contentRef} className={styles.column} data-testid="messages">
            {rows.length === 0 && phase === "loading" && <Skeletons />}
            {rows.map((row) => {
              if (row.kind === "user") return <UserMessage key={row.id} text={row.text} waiting={row.waiting} />;
              if (row.kind === "assistant") return <AssistantMessage key={row.id} row={row} onGoOn={row === lastRow && phase === "idle" ? onGoOn : undefined} />;
              if (row.kind === "asked") return <AskedCard key={row.id} asked={row.asked} />;
              return (
                <details key={row.id} className={styles.reasoning}>
                  <summary>{row.streaming ? "Thinking…" : "Thought for a moment"}</summary>
                  <p>{row.text}</p>
                </details>
              );
            })}
            {activity !== undefined && (
              <div className={styles.waiting} data-testid="activity" data-phase={phase}>
                <span className={styles.dots} aria-hidden="true">
                  <i />
                  <i />
                  <i />
                </span>
                {activity}
              </div>
            )}
            {view.stoppedEmpty && lastRow?.kind === "user" && <StoppedMark words="Stopped before the answer began" />}
            {failure !== undefined && <ErrorCard failure={failure} onRetry={onRetry} onDismiss={onDismiss} />}
            {children}
          </div>
        )}
      </div>
      {!atEnd && (
        <button type="button" className={styles.toLatest} aria-label="To the latest message" title="To the latest message" onClick={toEnd}>
          <ArrowDownIcon />
        </button>
      )}
    </div>
  );
}

/** What to say while nothing else on the screen shows that work goes on. */
function activityOf({ phase, rows, progress }: SessionView): string | undefined {
  if (phase === "reconnecting") return "Reconnecting…";
  if (phase !== "running") return undefined;
  const told = progress.get("")?.label;
  if (told !== undefined) return told;
  const last = rows.at(-1);
  if (last === undefined || last.kind === "user") return "Thinking…";
  if (last.kind === "reasoning") return undefined;
  if (last.kind === "asked") return "Thinking…";
  if (last.tools.length > 0 && last.tools.every(({ result }) => result !== undefined)) return "Writing the answer…";
  return undefined;
}

function Skeletons() {
  return (
    <div className={styles.skeletons} role="status" aria-label="Loading the conversation">
      <div />
      <div />
      <div />
      <div />
    </div>
  );
}
