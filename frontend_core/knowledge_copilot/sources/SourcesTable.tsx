/** The sources as a table to sort, to filter and to select from. What is selected limits the searches that follow. */

import { useEffect, useId, useMemo, useState } from "react";
import { MOST_SELECTED, useSources } from "./SourcesProvider";
import { filterSources, nextSorting, readSources, sortSources, type Column, type Sorting, type Source } from "./sources";
import { SearchIcon } from "../../chat/ui/icons";
import type { ToolCardProps } from "../../chat/tools/toolCard";
import { Skeleton } from "../../chat/tools/Skeleton";
import { isKey } from "@/chat/ui/keys";
import styles from "./sources.module.css";

export function SourcesTable({ state, result }: ToolCardProps) {
  const list = useMemo(() => readSources(result), [result]);
  if (state === "running") return <Skeleton rows={4} label="Loading the sources" />;
  if (list === undefined) return null;
  if (list.sources.length === 0) return <p className={styles.empty}>The knowledge base holds nothing that you may see.</p>;
  return <Table sources={list.sources} total={list.total} />;
}

const COLUMNS: readonly { readonly by: Column; readonly label: string }[] = [
  { by: "name", label: "Source" },
  { by: "kind", label: "Kind" },
  { by: "passages", label: "Passages" },
  { by: "added", label: "Added" },
];

function Table({ sources, total }: { readonly sources: readonly Source[]; readonly total: number }) {
  const { desk, filter, selected, select } = useSources();
  const [sorting, setSorting] = useState<Sorting>({ by: "name", descending: false });
  const filterId = useId();
  const tableId = useId();
  useEffect(() => {
    desk.patch({ sources, tableId });
  }, [desk, sources, tableId]);
  const shown = useMemo(() => sortSources(filterSources(sources, filter), sorting), [sources, filter, sorting]);
  const selectable = shown.filter(({ id }) => id !== "");
  const chosen = selectable.filter(({ id }) => selected.has(id)).length;

  const toggle = (ids: readonly string[], on: boolean): void => {
    const next = new Set(selected);
    for (const id of ids) if (on) next.add(id); else next.delete(id);
    select?.(next);
  };

  return (
    <div id={tableId} className={styles.sources} data-testid="sources-table">
      <div className={styles.tools}>
        <label className={styles.filter} htmlFor={filterId}>
          <SearchIcon size={15} />
          <span className="sr-only">Filter the sources</span>
          <input
            id={filterId}
            type="search"
            value={filter}
            placeholder="Filter"
            autoComplete="off"
            data-testid="sources-filter"
            onChange={({ target }) => {
              desk.patch({ filter: target.value });
            }}
            onKeyDown={(event) => {
              if (!isKey(event.nativeEvent, "Escape")) return;
              event.preventDefault();
              desk.patch({ filter: "" });
            }}
          />
        </label>
        <span className={styles.count} role="status" data-testid="sources-count">
          {shown.length === total ? `${total} sources` : `${shown.length} of ${total}`}
        </span>
      </div>
      {shown.length === 0 ? (
        <p className={styles.none}>No source is called that.</p>
      ) : (
        <div className={styles.frame} tabIndex={0} role="group" aria-label="Sources">
          <table>
            <thead>
              <tr>
                <th scope="col" className={styles.check}>
                  <input
                    type="checkbox"
                    aria-label="Select all that are shown"
                    checked={chosen > 0 && chosen === selectable.length}
                    disabled={select === undefined || selectable.length === 0}
                    ref={(box) => {
                      if (box !== null) box.indeterminate = chosen > 0 && chosen < selectable.length;
                    }}
                    onChange={({ target }) => {
                      toggle(selectable.map(({ id }) => id), target.checked);
                    }}
                  />
                </th>
                {COLUMNS.map(({ by, label }) => (
                  <th key={by} scope="col" data-column={by} aria-sort={sorting.by === by ? (sorting.descending ? "descending" : "ascending") : "none"}>
                    <button
                      type="button"
                      onClick={() => {
                        setSorting(nextSorting(sorting, by));
                      }}
                    >
                      {label}
                      <span aria-hidden="true" className={styles.arrow}>
                        {sorting.by === by ? (sorting.descending ? "↓" : "↑") : ""}
                      </span>
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((source, index) => (
                <Row
                  key={source.id === "" ? index : source.id}
                  source={source}
                  selected={selected.has(source.id)}
                  onSelect={
                    select === undefined || source.id === ""
                      ? undefined
                      : (on) => {
                          toggle([source.id], on);
                        }
                  }
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p className={styles.selection} data-testid="sources-selection" data-count={selected.size}>
        {selected.size === 0 ? (
          "Select sources to search only there."
        ) : (
          <>
            {selected.size === 1 ? "1 source is selected" : `${selected.size} sources are selected`}
            {selected.size >= MOST_SELECTED && ", the most that can be"}: searches look only there.
            <button
              type="button"
              disabled={select === undefined}
              onClick={() => {
                select?.(new Set());
              }}
            >
              Clear
            </button>
          </>
        )}
      </p>
    </div>
  );
}

interface RowProps {
  readonly source: Source;
  readonly selected: boolean;
  readonly onSelect: ((on: boolean) => void) | undefined;
}

function Row({ source, selected, onSelect }: RowProps) {
  const nameId = useId();
  return (
    <tr data-testid="source-row" data-source={source.id} data-selected={selected}>
      <td className={styles.check}>
        <input
          type="checkbox"
          aria-labelledby={nameId}
          checked={selected}
          disabled={onSelect === undefined}
          onChange={({ target }) => onSelect?.(target.checked)}
        />
      </td>
      <th
        id={nameId}
        scope="row"
        onClick={() => onSelect?.(!selected)}
      >
        {source.name}
      </th>
      <td data-column="kind">{source.kind}</td>
      <td data-column="passages">{source.passages.toLocaleString("en")}</td>
      <td data-column="added">{source.added}</td>
    </tr>
  );
}
