// The head of a page: how it turned out, the sentence to quote, and what belongs to it; sentences below.
import { h, prose } from "../element";
import { capital } from "../format";

export type Outcome = "holds" | "fails" | "invalid" | "unfinished";

const symbols: Record<Outcome, string> = { holds: "✓", fails: "✕", invalid: "!", unfinished: "…" };

/** The line above the headline: how it turned out. */
export function outcome(of: Outcome, words: string): HTMLElement {
  return h("p", { class: "outcome" }, h("span", { class: "symbol", "aria-hidden": "true" }, symbols[of]), capital(words));
}

/** The head of a page that compares: the outcome in words, the headline, then the rest. */
export function answer(of: Outcome, words: Record<Outcome, string>, said: string, ...rest: (Node | null)[]): HTMLElement {
  return h(
    "section",
    { id: "verdict", class: `hero ${of}`, "aria-label": "Answer" },
    outcome(of, words[of]),
    h("h1", { class: "long" }, ...prose(said)),
    ...rest,
  );
}

/** Sentences as a list; none for none. */
export function notes(items: string[]): HTMLElement | null {
  return items.length > 0 ? h("ul", { class: "notes" }, ...items.map((item) => h("li", {}, ...prose(item)))) : null;
}
