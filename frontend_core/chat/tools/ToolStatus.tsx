/** One tool call as a line that can be opened: what runs, what came of it, the arguments and the result in full. */

import { useId, useState } from "react";
import type { Progress } from "../session/progress";
import { AlertIcon, CheckIcon, ChevronIcon, Spinner, StopIcon } from "../ui/icons";
import { describeTool, readable, type ToolState } from "./describe";
import { Passages, readPassages } from "./Passages";
import styles from "./tools.module.css";

interface ToolStatusProps {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: string | undefined;
  readonly running: boolean;
  readonly progress: Progress | undefined;
}

const STATE_WORDS: Readonly<Record<ToolState, string>> = { running: "running", done: "done", failed: "failed", stopped: "stopped" };

export function ToolStatus({ name, args, result, running, progress }: ToolStatusProps) {
  const [open, setOpen] = useState(false);
  const panelId = useId();
  const words = describeTool({ name, args, result, running });
  const outcome = words.state === "running" ? (progress?.label ?? "") : words.outcome;
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
      {words.state === "running" && progress?.fraction !== undefined && (
        <progress className={styles.bar} value={progress.fraction} aria-label={progress.label} />
      )}
      {open && (
        <div id={panelId} className={styles.panel}>
          <Details name={name} args={args} result={result} />
        </div>
      )}
    </div>
  );
}

function Details({ name, args, result }: Pick<ToolStatusProps, "name" | "args" | "result">) {
  const passages = name === "search_knowledge" && result !== undefined ? readPassages(result) : undefined;
  const hasArgs = Object.keys(args).length > 0;
  return (
    <>
      <h4>Asked with</h4>
      {hasArgs ? <pre tabIndex={0}>{JSON.stringify(args, null, 2)}</pre> : <p className={styles.none}>no arguments</p>}
      <h4>Result</h4>
      {result === undefined && <p className={styles.none}>none yet</p>}
      {passages !== undefined && <Passages passages={passages} />}
      {result !== undefined && passages === undefined && <pre tabIndex={0}>{readable(result)}</pre>}
    </>
  );
}

function StateIcon({ state }: { readonly state: ToolState }) {
  if (state === "running") return <Spinner size={15} />;
  if (state === "done") return <CheckIcon size={15} />;
  if (state === "failed") return <AlertIcon size={15} />;
  return <StopIcon size={15} />;
}
