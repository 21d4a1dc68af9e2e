/** The server does not take the token any more: sign in again, and go on where it stopped. */

import { Button } from "../ui/Button";
import { AlertIcon } from "../ui/icons";
import styles from "../messages/messages.module.css";
import type { Person } from "./people";

interface SessionExpiredProps {
  readonly person: Person;
  readonly onSignIn: () => void;
}

export function SessionExpired({ person, onSignIn }: SessionExpiredProps) {
  return (
    <div className={styles.card} data-tone="warn" role="alert" data-testid="session-expired">
      <span className={styles.cardIcon}>
        <AlertIcon size={20} />
      </span>
      <p className={styles.cardTitle}>Your session has expired</p>
      <p className={styles.cardText}>Sign in again to go on. What you typed stays here, and an answer in progress continues.</p>
      <div className={styles.cardActions}>
        <Button tone="primary" data-testid="sign-in-again" onClick={onSignIn}>
          Sign in again as {person.name}
        </Button>
      </div>
    </div>
  );
}
