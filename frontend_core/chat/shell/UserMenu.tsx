/** Who is signed in, and signing in as somebody else. */

import type { Person } from "../auth/person";
import { useRegistry } from "../registry";
import { CheckIcon } from "../ui/icons";
import { useMenu } from "../ui/useMenu";
import styles from "./shell.module.css";

interface UserMenuProps {
  readonly person: Person;
  readonly onChoose: (sub: string) => void;
}

export function UserMenu({ person, onChoose }: UserMenuProps) {
  const { people } = useRegistry();
  const { open, setOpen, rootRef, buttonRef, onKeyDown } = useMenu();
  return (
    <div ref={rootRef} className={styles.menuRoot} onKeyDown={onKeyDown}>
      <button
        ref={buttonRef}
        type="button"
        className={styles.userButton}
        data-testid="user-menu"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={`Signed in as ${person.name}, ${person.role}. Change user`}
        onClick={() => {
          setOpen(!open);
        }}
      >
        <Avatar person={person} />
        <span className={styles.userName}>{person.name}</span>
      </button>
      {open && (
        <div className={styles.menu} role="menu" aria-label="Sign in as">
          <p className={styles.menuTitle}>Sign in as</p>
          {people.map((each) => (
            <button
              key={each.sub}
              type="button"
              role="menuitemradio"
              aria-checked={each.sub === person.sub}
              tabIndex={-1}
              className={styles.option}
              data-testid={`user-option-${each.sub}`}
              onClick={() => {
                setOpen(false);
                buttonRef.current?.focus();
                if (each.sub !== person.sub) onChoose(each.sub);
              }}
            >
              <Avatar person={each} />
              <span>
                <span className={styles.optionName}>
                  {each.name} <span className={styles.optionRole}>{each.role}</span>
                </span>
                <span className={styles.optionCan}>{each.can}</span>
              </span>
              <span className={styles.optionMark}>{each.sub === person.sub && <CheckIcon />}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function Avatar({ person }: { readonly person: Person }) {
  return (
    <span className={styles.avatar} aria-hidden="true">
      {person.name.slice(0, 1).toUpperCase()}
    </span>
  );
}
