/** What the agent did to the table of sources, and the way to it. */

import { useSources } from "./SourcesProvider";
import { Button } from "../../chat/ui/Button";
import type { ToolCardProps } from "../../chat/tools/toolCard";
import { numberIn, readObject } from "../../chat/tools/results";
import styles from "./filter.module.css";

export function FilterCard({ state, result }: ToolCardProps) {
  const { tableId } = useSources();
  const data = readObject(result);
  if (state !== "done" || data === undefined || numberIn(data, "shown") === undefined) return null;
  return (
    <div className={styles.action}>
      <Button
        className={styles.small}
        onClick={() => {
          const table = tableId === undefined ? null : document.getElementById(tableId);
          table?.scrollIntoView({ block: "center", behavior: "smooth" });
          table?.querySelector("input")?.focus({ preventScroll: true });
        }}
      >
        Show the table
      </Button>
    </div>
  );
}
