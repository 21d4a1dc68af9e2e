/**
 * One request over HTTP/2, as a browser makes it to Container Apps' ingress: a stream among others on one connection, which stays open.
 *
 * node http2_client.mjs ORIGIN PATH TOKEN BODY. Writes the answer's bytes to stdout as they come, and `[closed CODE]` when the stream ends.
 * A line on stdin cancels the stream (RST_STREAM); the end of stdin ends the program. It pings ten times a second.
 */

import http2 from "node:http2";

const [origin, path, token, body] = process.argv.slice(2);
const session = http2.connect(origin);
const stream = session.request({ ":method": "POST", ":path": path, authorization: `Bearer ${token}`, "content-type": "application/json" });
const pings = setInterval(() => session.ping(() => undefined), 100);

stream.on("data", (bytes) => process.stdout.write(bytes));
stream.on("error", () => undefined); // Its code is told at the close.
stream.on("close", () => process.stdout.write(`[closed ${stream.rstCode}]`));
stream.end(body);

process.stdin.on("data", () => stream.close(http2.constants.NGHTTP2_CANCEL));
process.stdin.on("end", () => {
  clearInterval(pings);
  session.destroy();
});
