// @ts-check
/**
 * An answer's Markdown in its plainest forms: quotes, lists, headings, bold, code. Whatever else there is stays as it was written.
 *
 * Written by hand because the page has no build step and can import no package; the chat page has a whole renderer.
 */

import { html } from "./dom.js";

/** @typedef {"fence" | "quote" | "title" | "item" | "plain"} Block */

/** @type {Readonly<Record<Block, string>>} */
const ELEMENTS = { fence: "pre", quote: "blockquote", title: "p", item: "p", plain: "p" };

/** @param {string} text @returns {Element[]} */
export function rendered(text) {
  /** @type {Element[]} */
  const blocks = [];
  let isFenced = false;
  /** @type {Block | undefined} The block that the next line may belong to. */
  let open;
  for (const line of text.split("\n")) {
    const [, mark = "", rest = ""] = /^(```|#{1,6} |> ?|[-*] |)(.*)$/s.exec(line) ?? [];
    if (mark === "```") {
      [isFenced, open] = [!isFenced, undefined];
      continue;
    }
    const kind = isFenced ? "fence" : blockOf(mark, line);
    const words = isFenced ? [line] : inline(kind === "plain" ? line : rest);
    const goesOn = kind === open && kind !== "item" && kind !== "title";
    if (kind !== undefined && goesOn) blocks.at(-1)?.append("\n", ...words);
    else if (kind !== undefined) blocks.push(html(ELEMENTS[kind], { class: kind }, ...words));
    open = kind;
  }
  return blocks;
}

/** @param {string} mark what the line begins with @param {string} line @returns {Block | undefined} undefined for an empty line */
function blockOf(mark, line) {
  if (mark.startsWith(">")) return "quote";
  if (mark.startsWith("#")) return "title";
  if (mark !== "") return "item";
  return line.trim() === "" ? undefined : "plain";
}

/** @param {string} line @returns {(Node | string)[]} */
function inline(line) {
  return line.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part) => {
    if (/^\*\*.+\*\*$/.test(part)) return html("strong", {}, part.slice(2, -2));
    return /^`.+`$/.test(part) ? html("code", {}, part.slice(1, -1)) : part;
  });
}
