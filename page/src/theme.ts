// Light and dark: the system's choice until the reader makes one.
import { h } from "./element";

type Theme = "light" | "dark";

const dark = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
const listeners = new Set<() => void>();

function chosen(): Theme {
  const set = document.documentElement.dataset["theme"];
  if (set === "light" || set === "dark") return set;
  return dark?.matches ? "dark" : "light";
}

/** Calls back whenever colours change. */
export function onTheme(callback: () => void): void {
  listeners.add(callback);
}

function changed(): void {
  for (const callback of listeners) callback();
}

dark?.addEventListener("change", changed);

/** Value of a custom property of the page's style now. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "currentColor";
}

/** The button that switches between light and dark. */
export function toggle(): HTMLElement {
  const button = h("button", { type: "button", class: "quiet" });
  const label = () => {
    button.textContent = chosen() === "dark" ? "☀ Light" : "☾ Dark";
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset["theme"] = chosen() === "dark" ? "light" : "dark";
    changed();
  });
  onTheme(label);
  label();
  return button;
}
