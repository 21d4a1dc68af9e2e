/** The empty conversation: what this is, and four questions to begin with. */

import { BrandMark } from "../ui/icons";
import styles from "./welcome.module.css";

const SUGGESTIONS: readonly { readonly title: string; readonly prompt: string }[] = [
  { title: "Survive a reload", prompt: "How does an answer go on after the page is reloaded?" },
  { title: "Stop for real", prompt: "What happens when I press stop?" },
  { title: "Stay authorised", prompt: "How is the user's JWT forwarded to backend-core?" },
  { title: "Look around", prompt: "Which documents are in the knowledge base?" },
];

interface WelcomeProps {
  readonly name: string;
  readonly disabled: boolean;
  readonly onAsk: (prompt: string) => void;
}

export function Welcome({ name, disabled, onAsk }: WelcomeProps) {
  return (
    <div className={styles.welcome} data-testid="welcome">
      <BrandMark size={44} />
      <h2 className={styles.title}>What would you like to know, {name}?</h2>
      <p className={styles.text}>
        Answers come from the knowledge base, with the passages they rest on. You can stop one at any time, or close the page and come back
        to it.
      </p>
      <ul className={styles.suggestions}>
        {SUGGESTIONS.map(({ title, prompt }) => (
          <li key={prompt}>
            <button
              type="button"
              className={styles.suggestion}
              data-testid="suggestion"
              disabled={disabled}
              onClick={() => {
                onAsk(prompt);
              }}
            >
              <span className={styles.suggestionTitle}>{title}</span>
              <span className={styles.suggestionText}>{prompt}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
