// One turn of /chat with fetch, in Node or in a page: prints what happens, attaches again when the stream is cut.
//
//   TOKEN=<JWT> node docs/examples/chat.mjs http://127.0.0.1:8000 "What is an event log?" [approve|reject]

const TRIES = 20;
const RETRY_MS = 1000;

/** The turn's events, each once, from the first to `turn_completed`, however often the connection breaks. */
export async function* events(url, token, path, body) {
  const key = crypto.randomUUID();
  let cursor = "";
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    const headers = { Authorization: `Bearer ${token}`, Accept: "text/event-stream" };
    let response;
    try {
      response = cursor
        ? await fetch(`${url}/chat/runs/${cursor.split(":")[0]}/events`, { headers: { ...headers, "Last-Event-ID": cursor } })
        : await fetch(`${url}${path}`, {
            method: "POST",
            headers: { ...headers, "Content-Type": "application/json", "Idempotency-Key": key },
            body: JSON.stringify(body),
          });
    } catch {
      continue; // not reached: try again
    }
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    const waiting = [];
    try {
      for await (const frame of frames(response.body)) {
        waiting.push(JSON.parse(frame.data));
        if (frame.id === undefined) continue; // comes again if the stream is cut before the id
        cursor = frame.id;
        yield* waiting;
        if (waiting.at(-1).type === "turn_completed") return;
        waiting.length = 0;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch says TypeError for a broken connection
    }
  }
  throw new Error(`no end after ${TRIES} attempts`);
}

/** Server-sent events out of bytes that are split anywhere. */
async function* frames(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const lines = block.split("\n").filter((line) => !line.startsWith(":"));
        const frame = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
        if (frame.data !== undefined) yield frame;
      }
    }
  } finally {
    await reader.cancel().catch(() => {}); // it may be broken already
  }
}

function show(event) {
  if (event.type === "node_completed") console.log(`  ${event.path.join(":")}: ${event.outcome}, ${event.latency_ms} ms`);
  if (event.type === "paused") for (const one of event.interrupts) console.log(`? ${one.title}`);
  if (event.type === "error") console.log(`! ${event.code}: ${event.message}`);
  if (event.type === "turn_completed") {
    for (const part of event.response.reply?.parts ?? []) if (part.type === "text") console.log(part.text);
    console.log(`= ${event.response.status}`);
  }
}

async function main(url, message, decision) {
  let path = "/chat";
  let body = { message };
  for (;;) {
    let last;
    for await (last of events(url, process.env.TOKEN, path, body)) show(last);
    const { status, thread_id, interrupts } = last.response;
    if (status !== "paused" || !decision) return;
    path = "/chat/resume";
    body = { thread_id, answers: interrupts.map(({ interrupt_id }) => ({ interrupt_id, decision })) };
  }
}

if (globalThis.process?.argv[1]?.endsWith("chat.mjs")) await main(...process.argv.slice(2));
