/**
 * What a product adds to the chat: how its tools are shown, what its cards share, its prompts, its words and its people.
 *
 * The chat reads all of it from here and knows no product and no tool by name. `knowledge_copilot/registry.ts` is the example.
 */

import { createContext, useContext, type ComponentType, type ReactNode } from "react";
import type { Person } from "./auth/person";
import type { Row } from "./session/rows";
import type { ToolWording } from "./tools/describeTool";
import type { ToolCardProps } from "./tools/toolCard";

/** How one tool is shown. Without a card its call is a line; without a wording the line is made from the tool's name. */
export interface ToolPresentation {
  readonly card?: ComponentType<ToolCardProps>;
  readonly wording?: ToolWording;
}

export interface ProductProviderProps {
  /** The state that the page and the agent share. */
  readonly state: Readonly<Record<string, unknown>>;
  /** Sets a part of that state. It goes to the agent with the next message. */
  readonly setState: (part: Readonly<Record<string, unknown>>) => void;
  /** An answer is being written: its run has its state already. */
  readonly busy: boolean;
  readonly children: ReactNode;
}

/** A prompt on the page of an empty conversation. */
export interface FirstPrompt {
  readonly title: string;
  readonly prompt: string;
}

export interface ChatRegistry {
  /** By the tool's name. */
  readonly tools: Readonly<Record<string, ToolPresentation>>;
  /** Wraps each conversation: here the product offers tools of the page and keeps what its cards share. */
  readonly Provider: ComponentType<ProductProviderProps>;
  /** What could be asked next. Called when no answer is being written. */
  readonly suggestionsFor: (rows: readonly Row[]) => readonly string[];
  readonly firstPrompts: readonly FirstPrompt[];
  /** Who can sign in with the development issuer; the first one is the default. */
  readonly people: readonly [Person, ...Person[]];
  readonly words: {
    /** Below the greeting of an empty conversation. */
    readonly welcome: string;
    /** In the empty message box. */
    readonly placeholder: string;
    /** Below the message box. */
    readonly hint: string;
    /** In place of `hint` while the offline model answers. */
    readonly offlineHint: string;
  };
}

const RegistryContext = createContext<ChatRegistry | undefined>(undefined);

export function RegistryProvider({ registry, children }: { readonly registry: ChatRegistry; readonly children: ReactNode }) {
  return <RegistryContext value={registry}>{children}</RegistryContext>;
}

/** The product's entries. Throws outside of `RegistryProvider`. */
export function useRegistry(): ChatRegistry {
  const registry = useContext(RegistryContext);
  if (registry === undefined) throw new Error("This component needs a <RegistryProvider> above it.");
  return registry;
}
