/** The empty conversation: what this is, and prompts to begin with. */

import { useRegistry } from "../registry";
import { BrandMark } from "../ui/icons";
import styles from "./welcome.module.css";

interface WelcomeProps {
  readonly name: string;
  readonly disabled: boolean;
  readonly onAsk: (prompt: string) => void;
}

export function Welcome({ name, disabled, onAsk }: WelcomeProps) {
  const { firstPrompts, words } = useRegistry();
  return (
    <div className={styles.welcome} data-testid="welcome">
      <BrandMark size={44} />
      <h2 className={styles.title}>What would you like to know, {name}?</h2>
      <p className={styles.text}>{words.welcome}</p>
      <ul className={styles.suggestions}>
        {firstPrompts.map(({ title, prompt }) => (
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
