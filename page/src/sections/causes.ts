// Each cause with its evidence, its test, and the candidates that were set aside.
import { h, prose, table } from "../element";
import type { CauseSaid, PageData } from "../model";
import { section } from "./section";

const marks = { proved: "✓", likely: "≈", possible: "?", refuted: "✕" };

export function causes(data: PageData): HTMLElement | null {
  if (data.causes.length === 0) return null;
  const confidence = (i: number) => data.findings.verdict.causes[i]?.confidence ?? "possible";
  const lead = "What the servers and clients showed in the same seconds, and the test that decides: change one setting alone.";
  return section("evidence", "Evidence", lead, ...data.causes.map((c, i) => cause(c, confidence(i))));
}

function cause(c: CauseSaid, confidence: keyof typeof marks): HTMLElement {
  const seen = c.others.filter((o) => o.evidence.length > 0);
  const unseen = c.others.filter((o) => o.evidence.length === 0).map((o) => o.name);
  const others = seen.map((o) => [o.name, o.why, h("span", {}, ...prose(o.evidence.join("; ")))]);
  return h(
    "article",
    { class: "cause" },
    h("h3", {}, c.title),
    h("p", { class: `confidence ${confidence}` }, h("span", { "aria-hidden": "true" }, `${marks[confidence]} `), c.confidence),
    h("p", { class: "formula" }, c.formula),
    h("h4", {}, "What speaks for it"),
    h("ul", { class: "evidence" }, ...c.evidence.map((e) => h("li", {}, ...prose(e)))),
    c.counterfactual !== null && h("h4", {}, "What changing it alone did"),
    c.counterfactual !== null && h("p", {}, ...prose(c.counterfactual)),
    c.others.length > 0 && h("h4", {}, "What else it could have been, and why it is not"),
    others.length > 0 && table("Other candidates", ["candidate", "why not", "what spoke for it"], others),
    unseen.length > 0 && h("p", { class: "aside" }, `Nothing at all spoke for: ${unseen.join("; ")}.`),
  );
}
