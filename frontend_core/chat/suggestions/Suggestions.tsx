/** What could be asked next, as chips below the answer. */

import { useMemo } from "react";
import { useRegistry } from "../registry";
import type { Row } from "../session/rows";
import styles from "./suggestions.module.css";

interface SuggestionsProps {
  readonly rows: readonly Row[];
  readonly onAsk: (prompt: string) => void;
}

export function Suggestions({ rows, onAsk }: SuggestionsProps) {
  const { suggestionsFor } = useRegistry();
  const prompts = useMemo(() => suggestionsFor(rows), [suggestionsFor, rows]);
  if (prompts.length === 0) return null;
  return (
    <ul className={styles.suggestions} aria-label="Suggestions" data-testid="next-suggestions">
      {prompts.map((prompt) => (
        <li key={prompt}>
          <button
            type="button"
            className={styles.suggestion}
            data-testid="next-suggestion"
            onClick={() => {
              onAsk(prompt);
            }}
          >
            {prompt}
          </button>
        </li>
      ))}
    </ul>
  );
}
