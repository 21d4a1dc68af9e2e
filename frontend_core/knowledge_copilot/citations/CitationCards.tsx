/** What a search found: the sources as chips, the passages as excerpts that open in place. */

import { useId, useRef, useState, type KeyboardEvent } from "react";
import { Markdown } from "../../chat/messages/Markdown";
import { ChevronIcon } from "../../chat/ui/icons";
import type { ToolCardProps } from "../../chat/tools/toolCard";
import styles from "./citations.module.css";
import { readCitations, sourcesOf, type Citation } from "./citations";
import { excerptOf, markWords } from "./highlight";
import { Skeleton } from "../../chat/tools/Skeleton";
import { isKey } from "@/chat/ui/keys";

const FIRST_SHOWN = 3;

export function CitationCards({ state, args, result }: ToolCardProps) {
  const [source, setSource] = useState<string>();
  const [all, setAll] = useState(false);
  const data = readCitations(result);
  if (state === "running") return <Skeleton rows={2} label="Searching" />;
  if (data === undefined) return null;
  if (data.found.length === 0) {
    return <p className={styles.empty}>{data.limitedTo > 0 ? "Nothing fits in the selected sources." : "Nothing in the knowledge base fits these words."}</p>;
  }
  const query = data.query === "" && typeof args.query === "string" ? args.query : data.query;
  const sources = sourcesOf(data.found);
  const fitting = source === undefined ? data.found : data.found.filter(({ name }) => name === source);
  const shown = all || source !== undefined ? fitting : fitting.slice(0, FIRST_SHOWN);
  return (
    <div className={styles.citations} data-testid="citations">
      {data.limitedTo > 0 && (
        <p className={styles.limited} data-testid="limited-to">
          Only in {data.limitedTo === 1 ? "the selected source" : `the ${data.limitedTo} selected sources`}
        </p>
      )}
      <ul className={styles.chips} aria-label="Sources found">
        {sources.map(({ name, count }) => (
          <li key={name}>
            <button
              type="button"
              className={styles.chip}
              aria-pressed={source === name}
              data-testid="source-chip"
              onClick={() => {
                setSource(source === name ? undefined : name);
              }}
            >
              <span className={styles.chipName}>{name}</span>
              <span className={styles.chipCount}>
                {count}
                <span className="sr-only"> {count === 1 ? "passage" : "passages"}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      <ol className={styles.list}>
        {shown.map((citation) => (
          <CitationCard key={data.found.indexOf(citation)} citation={citation} query={query} />
        ))}
      </ol>
      {shown.length < fitting.length && (
        <button
          type="button"
          className={styles.more}
          data-testid="more-citations"
          onClick={() => {
            setAll(true);
          }}
        >
          {fitting.length - shown.length} more {fitting.length - shown.length === 1 ? "passage" : "passages"}
        </button>
      )}
    </div>
  );
}

function CitationCard({ citation, query }: { readonly citation: Citation; readonly query: string }) {
  const [open, setOpen] = useState(false);
  const buttonRef = useRef<HTMLButtonElement>(null);
  const textId = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isKey(event.nativeEvent, "Escape") || !open) return;
    // Not a stop of the answer: this key closes what is open.
    event.preventDefault();
    setOpen(false);
    buttonRef.current?.focus();
  };
  return (
    <li className={styles.citation} data-testid="citation" data-open={open} onKeyDown={onKeyDown}>
      <button
        ref={buttonRef}
        type="button"
        className={styles.head}
        aria-expanded={open}
        aria-controls={textId}
        onClick={() => {
          setOpen(!open);
        }}
      >
        <span className={styles.title}>
          <span className={styles.name}>{citation.name}</span>
          {citation.section !== "" && <span className={styles.section}><Marked text={citation.section} query={query} /></span>}
        </span>
        {citation.score !== undefined && <Score value={citation.score} />}
        <span className={styles.chevron} data-open={open}>
          <ChevronIcon size={14} />
        </span>
      </button>
      <div id={textId} className={styles.text}>
        {open ? (
          <>
            <Markdown text={citation.text} />
            {citation.location !== "" && <p className={styles.location}>{citation.location}</p>}
          </>
        ) : (
          <p className={styles.excerpt}>
            <Marked text={excerptOf(citation.text, query)} query={query} />
          </p>
        )}
      </div>
    </li>
  );
}

function Marked({ text, query }: { readonly text: string; readonly query: string }) {
  return <>{markWords(text, query).map((piece, index) => (piece.hit ? <mark key={index}>{piece.text}</mark> : piece.text))}</>;
}

function Score({ value }: { readonly value: number }) {
  const percent = Math.round(value * 100);
  return (
    <span className={styles.score} title={`Match: ${percent} of 100`}>
      <span className="sr-only">, match {percent} of 100</span>
      <i style={{ width: `${Math.max(6, percent)}%` }} />
    </span>
  );
}
