/**
 * The sources as this page works with them: the table that is open, its filter, and the selection.
 *
 * The selection is state that the page and the agent share (`selected_sources`): the page sets it here, the agent
 * with a tool, and a search looks only there. The filter is the page's own; the agent reaches it by a tool of the page.
 */

import { useAgentContext } from "@copilotkit/react-core/v2/headless";
import { createContext, useContext, useMemo, useState } from "react";
import { z } from "zod";
import type { ProductProviderProps } from "../../chat/registry";
import { CannotDo, usePageTool } from "../../chat/tools/usePageTool";
import { Store, useStore } from "../../chat/ui/store";
import { filterSources, type Source } from "./sources";

export const SELECTED = "selected_sources";
/** As many as the server takes. */
export const MOST_SELECTED = 100;

/** `sources` is undefined until a table has been on the page; `tableId` is the newest one's. */
interface Desk {
  readonly sources: readonly Source[] | undefined;
  readonly tableId: string | undefined;
  readonly filter: string;
}

export const EMPTY_DESK: Desk = { sources: undefined, tableId: undefined, filter: "" };

interface SourcesValue {
  readonly desk: Store<Desk>;
  readonly selected: ReadonlySet<string>;
  /** Undefined while an answer is being written: the run has its selection already. */
  readonly select: ((ids: ReadonlySet<string>) => void) | undefined;
}

const SourcesContext = createContext<SourcesValue>({
  desk: new Store<Desk>(EMPTY_DESK),
  selected: new Set(),
  select: undefined,
});

export function SourcesProvider({ state, setState, busy, children }: ProductProviderProps) {
  const [desk] = useState(() => new Store<Desk>(EMPTY_DESK));
  const chosen = state[SELECTED];
  const value = useMemo((): SourcesValue => {
    const ids = Array.isArray(chosen) ? chosen.filter((id) => typeof id === "string") : [];
    return {
      desk,
      selected: new Set(ids),
      select: busy
        ? undefined
        : (next) => {
            setState({ [SELECTED]: [...next].slice(0, MOST_SELECTED) });
          },
    };
  }, [desk, chosen, busy, setState]);
  return (
    <SourcesContext value={value}>
      <PageTools desk={desk} />
      <Readables />
      {children}
    </SourcesContext>
  );
}

export function useSources(): Omit<SourcesValue, "desk"> & Desk & { readonly desk: Store<Desk> } {
  const { desk, selected, select } = useContext(SourcesContext);
  return { desk, selected, select, ...useStore(desk) };
}

/** What the agent may do on this page. */
function PageTools({ desk }: { readonly desk: Store<Desk> }) {
  usePageTool(
    {
      name: "filter_sources",
      description:
        "Filter the table of sources on the user's page to those whose name holds the text; an empty text shows all. Only what the user sees changes. If there is no table yet, call list_sources first.",
      parameters: z.object({ text: z.string().max(200).describe("What the name has to hold; empty: all.") }),
      handler: ({ text }) => Promise.resolve(filterTable(desk, text)),
    },
    [desk],
  );
  return null;
}

/** Filters the table and says what is shown. Throws CannotDo where there is none. */
export function filterTable(desk: Store<Desk>, text: string): object {
  const { sources } = desk.get();
  if (sources === undefined) throw new CannotDo("There is no table of sources on the page. Call list_sources first.");
  const filter = text.trim();
  desk.patch({ filter });
  const shown = filterSources(sources, filter);
  return { filter, shown: shown.length, total: sources.length, names: shown.slice(0, 20).map(({ name }) => name) };
}

/** What the agent is told about the page with each message. */
function Readables() {
  const { selected, sources, filter } = useSources();
  useAgentContext({ description: "Selected sources", value: selectionInWords(selected, sources) });
  useAgentContext({ description: "Open on the page", value: pageInWords(sources, filter) });
  return null;
}

export function selectionInWords(selected: ReadonlySet<string>, sources: readonly Source[] | undefined): string {
  if (selected.size === 0) return "none, so searches look in all sources";
  const names = [...selected].map((id) => sources?.find((source) => source.id === id)?.name ?? id);
  const told = names.slice(0, 20).join("; ");
  return names.length > 20 ? `${told}; and ${names.length - 20} more` : told;
}

export function pageInWords(sources: readonly Source[] | undefined, filter: string): string {
  if (sources === undefined) return "this conversation";
  if (filter === "") return `this conversation, and a table of ${sources.length} sources`;
  return `this conversation, and a table of sources filtered to “${filter}”: ${filterSources(sources, filter).length} of ${sources.length} are shown`;
}
