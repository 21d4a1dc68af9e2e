/** A source that is being added: its steps as they happen, then what it became. */

import { CheckIcon, Spinner } from "../../chat/ui/icons";
import type { ToolCardProps } from "../../chat/tools/toolCard";
import styles from "./ingest.module.css";
import { plain } from "../citations/highlight";
import { numberIn, readObject, textIn } from "../../chat/tools/results";

const LONGEST_PREVIEW = 160;

export function IngestCard({ state, args, result, progress }: ToolCardProps) {
  const data = readObject(result);
  const what = whatIsAdded(args);
  return (
    <div className={styles.ingest} data-testid="ingest-card" data-state={state}>
      {what !== "" && <p className={styles.what}>{what}</p>}
      {state === "running" && (
        <>
          <ol className={styles.steps} aria-label="Steps">
            {progress?.past.map((label, index) => (
              <li key={index} className={styles.past}>
                <CheckIcon size={14} />
                <span>{label}</span>
              </li>
            ))}
            <li aria-current="step" data-testid="ingest-step">
              <Spinner size={14} />
              <span>{progress?.label ?? "Sending it to the knowledge service"}</span>
            </li>
          </ol>
          <progress className={styles.bar} max={1} value={progress?.fraction} aria-label="Adding the source" />
        </>
      )}
      {state === "done" && data !== undefined && <Outcome name={textIn(data, "name")} passages={numberIn(data, "passages")} note={textIn(data, "note")} />}
      {state === "unknown" && (
        <p className={styles.note}>No longer watched. The knowledge service may still finish adding it: the list of sources shows it then.</p>
      )}
    </div>
  );
}

function Outcome({ name, passages, note }: { readonly name: string; readonly passages: number | undefined; readonly note: string }) {
  if (name === "") return <p className={styles.note}>{note}</p>;
  return (
    <p className={styles.outcome}>
      <strong>{name}</strong>
      {passages !== undefined && <span>{`${passages.toLocaleString("en")} ${passages === 1 ? "passage" : "passages"}, ready to be searched`}</span>}
    </p>
  );
}

function whatIsAdded(args: ToolCardProps["args"]): string {
  if (typeof args.url === "string") return args.url;
  const text = typeof args.text === "string" ? plain(args.text) : "";
  return text.length > LONGEST_PREVIEW ? `${text.slice(0, LONGEST_PREVIEW)}…` : text;
}
