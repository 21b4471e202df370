// The proposal as a unified diff of the user's file.
import { h } from "../element";
import type { Run } from "../run";
import { section } from "./section";

const words: Record<string, string> = { "+": "added", "-": "removed" };

export function change(run: Run): HTMLElement | null {
  const diff = run.end?.diff.trimEnd() ?? "";
  if (diff === "") return null;
  const lines = diff.split("\n").map((text) => {
    const header = /^(---|\+\+\+|@@)/.test(text);
    const kind = header ? "place" : (words[text[0] ?? ""] ?? "same");
    return h("span", { class: `diff ${kind}` }, `${text}\n`);
  });
  const lead = "The proposal, as a diff of the configuration that was tested.";
  return section("change", "The change", lead, h("pre", { class: "code", tabindex: 0, "aria-label": "Unified diff" }, ...lines));
}
