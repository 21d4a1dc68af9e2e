/** What the knowledge copilot, the demo, adds to the chat. */

import type { ChatRegistry } from "../chat/registry";
import { CitationCards } from "./citations/CitationCards";
import { Cockpit } from "./cockpit/Cockpit";
import { IngestCard } from "./ingest/IngestCard";
import { PEOPLE } from "./people";
import { FilterCard } from "./sources/FilterCard";
import { SourcesProvider } from "./sources/SourcesProvider";
import { SourcesTable } from "./sources/SourcesTable";
import { suggestionsFor } from "./suggestions";
import { WORDINGS } from "./wordings";

export const KNOWLEDGE_COPILOT: ChatRegistry = {
  tools: {
    search_knowledge: { card: CitationCards, wording: WORDINGS.search_knowledge },
    list_sources: { card: SourcesTable, wording: WORDINGS.list_sources },
    filter_sources: { card: FilterCard, wording: WORDINGS.filter_sources },
    select_sources: { wording: WORDINGS.select_sources },
    ingest_source: { card: IngestCard, wording: WORDINGS.ingest_source },
    delete_source: { wording: WORDINGS.delete_source },
    get_stats: { card: Cockpit, wording: WORDINGS.get_stats },
    cockpit_metrics: { card: Cockpit, wording: WORDINGS.cockpit_metrics },
  },
  Provider: SourcesProvider,
  suggestionsFor,
  firstPrompts: [
    { title: "Survive a reload", prompt: "How does an answer go on after the page is reloaded?" },
    { title: "Stop for real", prompt: "What happens when I press stop?" },
    { title: "Stay authorised", prompt: "How is the user's JWT forwarded to backend-core?" },
    { title: "Look around", prompt: "Which documents are in the knowledge base?" },
  ],
  people: PEOPLE,
  words: {
    welcome: "Answers come from the knowledge base, with the passages they rest on. You can stop one at any time, or close the page and come back to it.",
    placeholder: "Ask the knowledge base…",
    hint: "Answers can be wrong. Check the passages they rest on.",
    offlineHint: "The offline model quotes the knowledge base; it does not reason.",
  },
};
