/**
 * Enter and Escape that a person means for the page, not for an input method. Pure.
 *
 * While an input method composes (Japanese, Chinese, Korean), Enter picks a candidate and Escape drops it. Most
 * browsers say so with `isComposing`. Safari ends the composition before it sends the key, so `isComposing` is
 * false there; it marks the key with the code 229 instead.
 */

export interface KeyLike {
  readonly key: string;
  readonly keyCode: number;
  readonly isComposing: boolean;
}

/** Code of a key that an input method has used (UI Events, "keyCode" for composition). */
const USED_BY_INPUT_METHOD = 229;

export function isKey(event: KeyLike, key: "Enter" | "Escape"): boolean {
  return event.key === key && !event.isComposing && event.keyCode !== USED_BY_INPUT_METHOD;
}
