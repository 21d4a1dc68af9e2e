/** What was typed and not sent, per conversation: kept in the tab's sessionStorage, so a reload costs no words. Pure. */

type DraftStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const PREFIX = "middle-core.draft.";
/** A draft longer than this is not kept across a reload: the storage is small and shared. */
const LONGEST_DRAFT = 50_000;

export function readDraft(storage: DraftStorage, key: string): string {
  return storage.getItem(PREFIX + key) ?? "";
}

export function writeDraft(storage: DraftStorage, key: string, text: string): void {
  if (text === "") storage.removeItem(PREFIX + key);
  else if (text.length <= LONGEST_DRAFT) storage.setItem(PREFIX + key, text);
}
