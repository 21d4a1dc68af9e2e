/**
 * Cuts Markdown into top-level blocks, so that while an answer grows only its last block is parsed again. Pure.
 *
 * A cut is made at an empty line outside a code fence, unless what follows belongs to what came before: an
 * indented line or another item of a list. Joining the blocks with the removed empty lines gives the text back.
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const CONTINUES = /^(?: {2,}|\t|[-*+] |\d{1,9}[.)] |\|)/;
const LIST = /^ {0,3}(?:[-*+] |\d{1,9}[.)] )/;

export function splitBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let blank = 0;
  let fence: string | undefined;
  let inList = false;
  const cut = (): void => {
    if (current.length > 0) blocks.push(current.join("\n"));
    current = [];
    inList = false;
  };
  for (const line of text.split("\n")) {
    if (fence === undefined && line.trim() === "") {
      blank++;
      continue;
    }
    const follows = inList ? CONTINUES.test(line) : /^(?: {4,}|\t)/.test(line);
    if (blank > 0) {
      if (follows) current.push(...Array<string>(blank).fill(""));
      else cut();
    }
    blank = 0;
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      if (current.length === 0) inList = LIST.test(line);
      if (mark !== undefined) fence = mark;
    } else if (mark?.[0] === fence[0] && mark !== undefined && mark.length >= fence.length && line.trim() === mark) {
      fence = undefined;
    }
    current.push(line);
  }
  cut();
  return blocks;
}
