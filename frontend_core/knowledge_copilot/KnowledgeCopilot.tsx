"use client";

/** The demo's page: the generic chat with what the knowledge copilot registers. */

import { ChatApp } from "../chat/ChatApp";
import { KNOWLEDGE_COPILOT } from "./registry";

export function KnowledgeCopilot() {
  return <ChatApp registry={KNOWLEDGE_COPILOT} />;
}
