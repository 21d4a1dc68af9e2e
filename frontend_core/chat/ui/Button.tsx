/** Buttons with words and buttons with an icon. A button without words must have a label. */

import type { ButtonHTMLAttributes, Ref } from "react";
import styles from "./ui.module.css";

type Props = ButtonHTMLAttributes<HTMLButtonElement> & { readonly ref?: Ref<HTMLButtonElement> };

export function Button({ tone = "plain", className, ...props }: Props & { readonly tone?: "plain" | "primary" | "danger" }) {
  const toneClass = tone === "plain" ? undefined : styles[tone];
  return <button type="button" className={[styles.button, toneClass, className].filter(Boolean).join(" ")} {...props} />;
}

export function IconButton({ label, className, ...props }: Props & { readonly label: string }) {
  return <button type="button" aria-label={label} title={label} className={[styles.iconButton, className].filter(Boolean).join(" ")} {...props} />;
}
