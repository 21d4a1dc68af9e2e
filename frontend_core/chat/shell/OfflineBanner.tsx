/** The server cannot be reached: said once, for the whole page, with a way to try at once. */

import { OfflineIcon } from "../ui/icons";
import styles from "./shell.module.css";

export function OfflineBanner({ onRetry }: { readonly onRetry: () => void }) {
  return (
    <div className={styles.banner} role="status" data-testid="offline-banner">
      <OfflineIcon />
      <span>The service cannot be reached. Trying again on its own; nothing is lost.</span>
      <button type="button" className={styles.bannerAction} onClick={onRetry}>
        Try now
      </button>
    </div>
  );
}
