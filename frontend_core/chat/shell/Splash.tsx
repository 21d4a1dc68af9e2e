/** What stands there until the page knows who is here: the frame, quietly waiting. */

import styles from "./shell.module.css";

export function Splash() {
  return (
    <div className={styles.shell} aria-busy="true">
      <div className={styles.sidebar} data-splash="true" />
      <main className={styles.main}>
        <div className={styles.header} />
        <p className="sr-only" role="status">
          Loading…
        </p>
      </main>
    </div>
  );
}
