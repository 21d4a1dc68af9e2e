/** An excerpt of a passage around what was searched for, with the matched words marked. Pure. */

export interface Piece {
  readonly text: string;
  readonly hit: boolean;
}

const COMMON: ReadonlySet<string> = new Set(
  "about and are but can does for from has have how into its not that the their them then there this was were what when where which who why will with you your".split(" "),
);
const SHORTEST = 3;
const ENDINGS = /(?:ings?|edly|ed|ies|es|ly|s|e)$/;
/** How much of an excerpt stands before the first match. */
const BEFORE = 60;

/** The text in pieces, in order; together they are the text. A word matches with other endings, as the search has it. */
export function markWords(text: string, query: string): readonly Piece[] {
  const stems = stemsOf(query);
  if (stems.length === 0) return [{ text, hit: false }];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${stems.map(escaped).join("|")})[\\p{L}\\p{N}]*`, "giu");
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index), hit: false });
    pieces.push({ text: match[0], hit: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), hit: false });
  return pieces;
}

/** At most about `most` characters of the passage around its first match, without Markdown's marks. */
export function excerptOf(markdown: string, query: string, most = 230): string {
  const text = plain(markdown);
  if (text.length <= most) return text;
  const first = markWords(text, query);
  const hit = first.findIndex((piece) => piece.hit);
  const place = hit === -1 ? 0 : first.slice(0, hit).reduce((sum, piece) => sum + piece.text.length, 0);
  const from = place <= BEFORE ? 0 : wordStart(text, place - BEFORE);
  const to = from + most >= text.length ? text.length : wordEnd(text, from + most);
  return `${from > 0 ? "…" : ""}${text.slice(from, to).trim()}${to < text.length ? "…" : ""}`;
}

/** Markdown as running text. */
export function plain(markdown: string): string {
  return markdown
    .replaceAll(/^\s*(?:```|~~~).*$/gm, "")
    .replaceAll(/^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|\|?(?:\s*:?-{3,}:?\s*\|)+\s*)/gm, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*|__|`|\|/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

function stemsOf(query: string): readonly string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => word.length >= SHORTEST && !COMMON.has(word));
  return [...new Set(telling.map((word) => (word.length > 4 ? word.replace(ENDINGS, "") : word)))].slice(0, 24);
}

function escaped(word: string): string {
  return word.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function wordStart(text: string, at: number): number {
  const space = text.indexOf(" ", at);
  return space === -1 ? at : space + 1;
}

function wordEnd(text: string, at: number): number {
  const space = text.lastIndexOf(" ", at);
  return space === -1 ? at : space;
}
