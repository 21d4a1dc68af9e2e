// A page without a browser: CopilotKit's own core with the card tool, against a real server.
// One JSON line in: {"url", "token", "threadId", "text", "answer", "connect"}; one out: {"cards", "messages", "errors", "runs"}.
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { CopilotKitCore } from "@copilotkit/core";

console.error = () => {};
console.warn = () => {};
const [line] = await new Promise((resolve) => createInterface({ input: process.stdin }).once("line", (text) => resolve([text])));
const asked = JSON.parse(line);
const cards = [];
const errors = [];
let runs = 0;
const agent = new HttpAgent({
  url: `${asked.url}/copilotkit`,
  threadId: asked.threadId,
  agentId: "default",
  headers: { authorization: `Bearer ${asked.token}` },
  fetch: (url, init) => {
    runs += 1;
    return fetch(url, init);
  },
});
const card = {
  name: "approve_action",
  type: "human-in-the-loop",
  parameters: undefined,
  handler: async (args) => {
    cards.push(args);
    return asked.answer;
  },
};
const core = new CopilotKitCore({ agents__unsafe_dev_only: { default: agent }, tools: [card] });
core.subscribe({ onError: ({ error, code }) => errors.push(`${code}: ${error.message}`) });
if (asked.messages) agent.setMessages(asked.messages);
if (asked.text) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: asked.text });
await core.runAgent({ agent });
process.stdout.write(JSON.stringify({ cards, errors, runs, messages: agent.messages }) + "\n");
process.exit(0);
