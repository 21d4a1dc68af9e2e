/** Reading what a tool returned: JSON of any shape, taken field by field. Pure. */

export type Fields = Readonly<Record<string, unknown>>;

/** The object that the text is, or undefined: a fault in words, or a result that was cut, is no object. */
export function readObject(text: string | undefined): Fields | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined; // Words for people; the card shows them as they are.
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function fieldsIn(fields: Fields, key: string): readonly Fields[] {
  const found = fields[key];
  return Array.isArray(found) ? found.filter(isFields) : [];
}

export function textIn(fields: Fields, key: string): string {
  const found = fields[key];
  return typeof found === "string" ? found : "";
}

export function numberIn(fields: Fields, key: string): number | undefined {
  const found = fields[key];
  return typeof found === "number" && Number.isFinite(found) ? found : undefined;
}

export function textsIn(fields: Fields, key: string): readonly string[] {
  const found = fields[key];
  return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
}
