/** A page with one message on it: signing in, nothing to show, something broke. */

import type { ReactNode } from "react";
import { Button } from "./Button";
import { BrandMark } from "./icons";
import styles from "./ui.module.css";

interface PanelProps {
  readonly title: string;
  readonly text: string;
  readonly action?: { readonly label: string; readonly onClick: () => void };
  readonly children?: ReactNode;
}

export function Panel({ title, text, action, children }: PanelProps) {
  return (
    <main className={styles.panelPage}>
      <div className={styles.panel}>
        <BrandMark size={44} />
        <h1>{title}</h1>
        <p>{text}</p>
        <div className={styles.panelActions}>
          {action && (
            <Button tone="primary" onClick={action.onClick}>
              {action.label}
            </Button>
          )}
          {children}
        </div>
      </div>
    </main>
  );
}
