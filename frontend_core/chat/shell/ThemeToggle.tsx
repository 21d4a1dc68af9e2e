/** Light, dark, or as the system wishes: one button that goes round. */

import { useSyncExternalStore } from "react";
import { nextTheme, readTheme, THEME_KEY, type Theme } from "../theme";
import { IconButton } from "../ui/Button";
import { MoonIcon, SunIcon, SystemIcon } from "../ui/icons";

const LABELS: Readonly<Record<Theme, string>> = { system: "as the system", light: "light", dark: "dark" };
const ICONS = { system: SystemIcon, light: SunIcon, dark: MoonIcon };

export function ThemeToggle() {
  const theme = useSyncExternalStore(subscribe, current, serverTheme);
  const Icon = ICONS[theme];
  return (
    <IconButton
      label={`Appearance: ${LABELS[theme]}. Change to ${LABELS[nextTheme(theme)]}`}
      data-testid="theme-toggle"
      data-theme={theme}
      onClick={() => {
        apply(nextTheme(theme));
      }}
    >
      <Icon />
    </IconButton>
  );
}

function current(): Theme {
  return readTheme(document.documentElement.dataset.theme ?? null);
}

const serverTheme = (): Theme => "system";

function subscribe(callback: () => void): () => void {
  const observer = new MutationObserver(callback);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    observer.disconnect();
  };
}

function apply(theme: Theme): void {
  localStorage.setItem(THEME_KEY, theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
