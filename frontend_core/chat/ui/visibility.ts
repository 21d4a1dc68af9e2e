/** Whether somebody can see this page, and when that changes. */

export function isVisible(): boolean {
  return document.visibilityState === "visible";
}

/** Calls back on each change, on focus and when the page comes back from the browser's cache; returns how to stop. */
export function onVisibility(callback: () => void): () => void {
  document.addEventListener("visibilitychange", callback);
  window.addEventListener("focus", callback);
  window.addEventListener("pageshow", callback);
  return () => {
    document.removeEventListener("visibilitychange", callback);
    window.removeEventListener("focus", callback);
    window.removeEventListener("pageshow", callback);
  };
}
