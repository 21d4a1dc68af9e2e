// Runs each stream through the browser's own AG-UI client: SSE parser, schemas, verifier and reducer.
// JSON lines in, `{"sse": text, "messages": [...]}`; JSON lines out, one verdict each, in order.
import { createInterface } from "node:readline";
import { EventType, HttpAgent } from "@ag-ui/client";

console.error = () => {}; // the client prints every failure, which is a verdict here
let warnings = [];
console.warn = (...words) => warnings.push(words.join(" "));

async function verdict({ sse, messages }) {
  warnings = [];
  const agent = new HttpAgent({
    url: "http://stream.invalid/",
    threadId: "t",
    initialMessages: messages,
    fetch: async () => new Response(sse, { headers: { "content-type": "text/event-stream" } }),
  });
  const types = [];
  let error = null;
  let runError = null;
  try {
    await agent.runAgent(
      { runId: "r" },
      {
        onEvent: ({ event }) => void types.push(event.type),
        onRunErrorEvent: ({ event }) => void (runError = event),
      },
    );
  } catch (caught) {
    error = caught instanceof Error ? caught.message : String(caught);
  }
  return {
    error,
    warnings,
    types,
    runError,
    messages: agent.messages,
    state: agent.state,
    pendingInterrupts: agent.pendingInterrupts,
  };
}

process.stdout.write(JSON.stringify({ eventTypes: Object.values(EventType) }) + "\n");
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await verdict(JSON.parse(line))) + "\n");
}
