/** The bar above the conversation: what it is called, who answers, how it looks, who asks. */

import type { Ref } from "react";
import type { Person } from "../auth/person";
import { GRAPH_TOGGLE, type PanelState } from "../graph/usePanel";
import { IconButton } from "../ui/Button";
import { GraphIcon, MenuIcon } from "../ui/icons";
import styles from "./shell.module.css";
import { ThemeToggle } from "./ThemeToggle";
import { UserMenu } from "./UserMenu";

interface HeaderProps {
  readonly title: string;
  readonly model: { readonly label: string; readonly offline: boolean } | undefined;
  readonly person: Person;
  readonly onChoosePerson: (sub: string) => void;
  readonly onOpenSidebar: () => void;
  readonly sidebarOpen: boolean;
  readonly graphPanel: PanelState;
  readonly menuRef: Ref<HTMLButtonElement>;
}

export function Header({ title, model, person, onChoosePerson, onOpenSidebar, sidebarOpen, graphPanel, menuRef }: HeaderProps) {
  return (
    <header className={styles.header}>
      <IconButton
        ref={menuRef}
        label="Conversations"
        className={styles.menuButton}
        aria-expanded={sidebarOpen}
        aria-controls="sidebar"
        data-testid="open-sidebar"
        onClick={onOpenSidebar}
      >
        <MenuIcon />
      </IconButton>
      <h1 className={styles.title} title={title}>
        {title}
      </h1>
      {model && (
        <span className={styles.badge} data-offline={model.offline} title={model.label} data-testid="model-badge">
          {model.label}
        </span>
      )}
      <span className={styles.spacer} />
      <IconButton
        id={GRAPH_TOGGLE}
        label="Execution graph"
        aria-expanded={graphPanel.open}
        aria-controls="graph-panel"
        data-testid="graph-toggle"
        onClick={() => {
          graphPanel.setOpen(!graphPanel.open);
        }}
      >
        <GraphIcon />
      </IconButton>
      <ThemeToggle />
      <UserMenu person={person} onChoose={onChoosePerson} />
    </header>
  );
}
