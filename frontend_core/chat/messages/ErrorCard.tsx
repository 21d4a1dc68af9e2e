/** A failure in the conversation: what happened, what to do, and the number to give to whoever runs the server. */

import { ERROR_CODE } from "../../contract";
import { isAway, type Failure } from "../errors/failure";
import { wordsOf } from "../errors/errorMessages";
import { Button } from "../ui/Button";
import { AlertIcon, RetryIcon } from "../ui/icons";
import styles from "./messages.module.css";

interface ErrorCardProps {
  readonly failure: Failure;
  readonly onRetry: () => void;
  readonly onDismiss: () => void;
}

export function ErrorCard({ failure, onRetry, onDismiss }: ErrorCardProps) {
  const words = wordsOf(failure);
  const gentle = isAway(failure) || failure.retryAfter !== undefined || failure.code === ERROR_CODE.THREAD_BUSY;
  return (
    <div className={styles.card} role="alert" data-testid="error-card" data-code={failure.code} data-tone={gentle ? "warn" : "danger"}>
      <span className={styles.cardIcon}>
        <AlertIcon size={20} />
      </span>
      <p className={styles.cardTitle}>{words.title}</p>
      <p className={styles.cardText}>{words.text}</p>
      {failure.correlationId !== undefined && (
        <p className={styles.cardRef}>
          Reference <code>{failure.correlationId}</code>
        </p>
      )}
      <div className={styles.cardActions}>
        {words.retry && (
          <Button data-testid="retry" onClick={onRetry}>
            <RetryIcon size={16} /> Retry
          </Button>
        )}
        {!words.retry && <Button onClick={onDismiss}>Dismiss</Button>}
      </div>
    </div>
  );
}
