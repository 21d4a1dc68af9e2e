/** Light, dark, or as the system wishes. The choice is an attribute of <html>, set before the first paint. */

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const THEME_KEY = "middle-core.theme";

export function readTheme(value: string | null): Theme {
  return THEMES.find((theme) => theme === value) ?? "system";
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
}

/** Runs inline in <head>: no flash of the wrong theme. `system` is the absence of the attribute. */
export const THEME_SCRIPT = `try{var t=localStorage.getItem(${JSON.stringify(THEME_KEY)});if(t==="light"||t==="dark")document.documentElement.dataset.theme=t}catch(e){}`;
