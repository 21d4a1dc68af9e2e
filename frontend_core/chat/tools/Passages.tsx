/** What a search of the knowledge base found, passage by passage. */

import styles from "./tools.module.css";

export interface Passage {
  readonly title: string;
  readonly location: string;
  readonly text: string;
}

/** The passages of a result of `search_knowledge`, or undefined when it is something else. Pure. */
export function readPassages(result: string): readonly Passage[] | undefined {
  let data: unknown;
  try {
    data = JSON.parse(result);
  } catch {
    return undefined; // A fault in words, or a result that was cut: shown as text.
  }
  if (typeof data !== "object" || data === null || !("passages" in data) || !Array.isArray(data.passages)) return undefined;
  return data.passages.map(readPassage).filter((passage) => passage !== undefined);
}

function readPassage(value: unknown): Passage | undefined {
  if (typeof value !== "object" || value === null || !("text" in value) || typeof value.text !== "string") return undefined;
  const field = (name: "title" | "location"): string => {
    const found: unknown = name in value ? (value as Record<string, unknown>)[name] : undefined;
    return typeof found === "string" ? found : "";
  };
  return { title: field("title"), location: field("location"), text: value.text };
}

export function Passages({ passages }: { readonly passages: readonly Passage[] }) {
  if (passages.length === 0) return <p className={styles.none}>nothing found</p>;
  return (
    <ol className={styles.passages}>
      {passages.map((passage, index) => (
        <li key={index}>
          <p className={styles.passageTitle}>
            {passage.title === "" ? "Untitled" : passage.title}
            {passage.location !== "" && <span className={styles.location}> {passage.location}</span>}
          </p>
          <p className={styles.passageText}>{passage.text}</p>
        </li>
      ))}
    </ol>
  );
}
