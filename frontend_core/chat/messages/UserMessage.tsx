/** What the person said. Plain text, always. */

import { memo } from "react";
import styles from "./messages.module.css";

interface UserMessageProps {
  readonly text: string;
  readonly waiting: boolean;
}

export const UserMessage = memo(function UserMessage({ text, waiting }: UserMessageProps) {
  return (
    <div className={styles.user} data-testid="message-user" data-waiting={waiting}>
      <span className="sr-only">You: </span>
      {text}
    </div>
  );
});
