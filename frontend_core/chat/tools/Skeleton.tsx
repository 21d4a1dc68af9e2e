/** Where a result will stand, while it is not there yet. */

import styles from "./tools.module.css";

export function Skeleton({ rows, label }: { readonly rows: number; readonly label: string }) {
  return (
    <div className={styles.skeleton} role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} />
      ))}
    </div>
  );
}
