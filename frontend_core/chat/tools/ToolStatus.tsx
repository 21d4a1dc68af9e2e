/** One tool call as a line that can be opened: what runs, what came of it, the arguments and the result in full. */

import { useId, useState } from "react";
import { TOOL_OUTCOME } from "../../contract";
import type { Progress } from "../session/progress";
import { AlertIcon, CheckIcon, ChevronIcon, Spinner, StopIcon } from "../ui/icons";
import { readable, type ToolWords } from "./describeTool";
import type { ToolState } from "./outcome";
import { STATE_WORDS } from "./outcomeWords";
import styles from "./tools.module.css";

interface ToolStatusProps {
  readonly name: string;
  readonly words: ToolWords;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: string | undefined;
  readonly progress: Progress | undefined;
  /** A card below shows how it goes on: the line does not say it again. */
  readonly quiet?: boolean;
}

export function ToolStatus({ name, words, args, result, progress, quiet = false }: ToolStatusProps) {
  const [open, setOpen] = useState(false);
  const panelId = useId();
  const told = quiet ? undefined : progress;
  const outcome = words.state === "running" ? (told?.label ?? "") : words.outcome;
  return (
    <div className={styles.tool} data-testid="tool-status" data-tool={name} data-state={words.state}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={open}
        aria-controls={panelId}
        onClick={() => {
          setOpen(!open);
        }}
      >
        <span className={styles.icon} data-state={words.state}>
          <StateIcon state={words.state} />
          <span className="sr-only">{STATE_WORDS[words.state]}: </span>
        </span>
        <span className={styles.words}>
          {words.title}
          {outcome !== "" && <span className={styles.outcome}> · {outcome}</span>}
        </span>
        <span className={styles.chevron} data-open={open}>
          <ChevronIcon size={14} />
        </span>
      </button>
      {words.state === "running" && told?.fraction !== undefined && (
        <progress className={styles.bar} value={told.fraction} aria-label={told.label} />
      )}
      {open && (
        <div id={panelId} className={styles.panel}>
          <Details args={args} result={result} />
        </div>
      )}
    </div>
  );
}

function Details({ args, result }: Pick<ToolStatusProps, "args" | "result">) {
  const hasArgs = Object.keys(args).length > 0;
  return (
    <>
      <h4>Asked with</h4>
      {hasArgs ? <pre tabIndex={0}>{JSON.stringify(args, null, 2)}</pre> : <p className={styles.none}>no arguments</p>}
      <h4>Result</h4>
      {result === undefined ? <p className={styles.none}>none yet</p> : <pre tabIndex={0}>{readable(result)}</pre>}
    </>
  );
}

export function StateIcon({ state }: { readonly state: ToolState }) {
  switch (state) {
    case "running":
      return <Spinner size={15} />;
    case "done":
      return <CheckIcon size={15} />;
    case "failed":
    case "refused":
    case "unknown":
      return <AlertIcon size={15} />;
    case TOOL_OUTCOME.NOT_RUN:
    case "cancelled":
      return <StopIcon size={15} />;
  }
}
