/** The server does not take the token any more: sign in again, and go on where it stopped. */

import { Button } from "../ui/Button";
import { AlertIcon } from "../ui/icons";
import styles from "../messages/messages.module.css";
import type { Failure } from "../errors/failure";
import { wordsOf } from "../errors/errorMessages";
import type { Person } from "./person";

interface SessionExpiredProps {
  readonly person: Person;
  readonly again: "no" | "trying" | Failure;
  readonly onSignIn: () => void;
}

export function SessionExpired({ person, again, onSignIn }: SessionExpiredProps) {
  return (
    <div className={`${styles.card} ${styles.docked}`} data-tone="warn" role="alert" data-testid="session-expired">
      <span className={styles.cardIcon}>
        <AlertIcon size={20} />
      </span>
      <p className={styles.cardTitle}>Your session has expired</p>
      <p className={styles.cardText}>Sign in again to go on. What you typed stays here, and an answer in progress continues.</p>
      {typeof again === "object" && <p className={styles.cardText}>That did not work: {wordsOf(again).text}</p>}
      <div className={styles.cardActions}>
        <Button tone="primary" data-testid="sign-in-again" disabled={again === "trying"} onClick={onSignIn}>
          {again === "trying" ? "Signing in…" : `Sign in again as ${person.name}`}
        </Button>
      </div>
    </div>
  );
}
