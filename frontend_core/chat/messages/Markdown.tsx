/**
 * A model's words as safe Markdown: no raw HTML, no foreign images, links marked and opened elsewhere.
 *
 * An image would be fetched from an address that the model (or a document it read) chose, which can carry data
 * out: it becomes a link that a person may follow.
 */

import { memo, useMemo, useState, type ComponentProps } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CheckIcon, CopyIcon, ExternalIcon } from "../ui/icons";
import { splitBlocks } from "./blocks";
import styles from "./markdown.module.css";

export function Markdown({ text }: { readonly text: string }) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return (
    <div className={styles.prose}>
      {blocks.map((block, index) => (
        // Blocks only ever grow at the end: the place is the identity.
        <Block key={index} text={block} />
      ))}
    </div>
  );
}

const PLUGINS = [remarkGfm];

const Block = memo(function Block({ text }: { readonly text: string }) {
  return (
    <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  );
});

const COMPONENTS: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Link href={typeof src === "string" ? src : undefined}>{alt === undefined || alt === "" ? "image" : alt}</Link>,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className={styles.tableFrame} tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  // Headings of an answer stand below the headings of the page.
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
};

function Link({ href, children }: Pick<ComponentProps<"a">, "href" | "children">) {
  if (href === undefined || href === "") return <>{children}</>;
  if (href.startsWith("#")) return <a href={href}>{children}</a>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
      <span className={styles.external}>
        <ExternalIcon size={13} />
        <span className="sr-only"> (opens in a new tab)</span>
      </span>
    </a>
  );
}

function CodeBlock({ children }: Pick<ComponentProps<"pre">, "children">) {
  const [element, setElement] = useState<HTMLPreElement | null>(null);
  return (
    <div className={styles.codeFrame}>
      <pre ref={setElement} tabIndex={0}>
        {children}
      </pre>
      <CopyButton label="Copy code" className={styles.copyCode} text={() => element?.textContent ?? ""} />
    </div>
  );
}

interface CopyButtonProps {
  readonly label: string;
  readonly className?: string | undefined;
  readonly text: () => string;
}

const COPIED_MS = 1_600;

export function CopyButton({ label, className, text }: CopyButtonProps) {
  const [copied, setCopied] = useState<"no" | "yes" | "failed">("no");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      setCopied("yes");
    } catch {
      setCopied("failed"); // The browser may refuse the clipboard; the button says so.
    }
    setTimeout(() => {
      setCopied("no");
    }, COPIED_MS);
  };
  const words = copied === "yes" ? "Copied" : copied === "failed" ? "Copying was refused" : label;
  return (
    <button type="button" className={[styles.copy, className].filter(Boolean).join(" ")} aria-label={words} title={words} onClick={() => void copy()}>
      {copied === "yes" ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
    </button>
  );
}
