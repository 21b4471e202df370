// The verdict: the answer as large as it is important, why, the figures that carry it, how sure.
import { h, prose } from "../element";
import { capital, number, percent, range, seconds, whole } from "../format";
import type { PageData, Sentence } from "../model";
import type { Run } from "../run";
import { outcome } from "./answer";

export interface Tile {
  name: string;
  value: string;
  /** Spoken and shown small under it. */
  note: string;
}

/** The figures that carry the verdict, at most four. */
export function tiles(data: PageData, run: Run): Tile[] {
  const v = data.findings.verdict;
  const all: Tile[] = [];
  const cause = v.causes.find((c) => c.confidence !== "refuted");
  const broke = cause?.broke ?? v.trials.find((t) => t.broke)?.broke;
  if (v.outcome === "invalid") return all;
  if (broke) {
    const predicted = cause?.predicted.clients;
    const note = predicted ? `predicted at ${range(predicted)} clients` : `asked for: ${broke.condition}`;
    const value = broke.level < 1.5 ? "the first request" : `${whole(broke.level)} ${run.unit}`;
    all.push({ name: "It broke at", value, note });
  } else {
    const held = v.trials.find((t) => !t.broke);
    if (held && v.outcome !== "unfinished") {
      const failed = `${whole(held.failed)} of ${whole(held.finished)} ${data.counted.all} failed`;
      all.push({ name: "It held at", value: `${whole(held.asked)} ${run.unit}`, note: failed });
      all.push({ name: "p99 latency", value: seconds(held.latency.p99), note: `of ${whole(held.latency.count)} responses` });
    }
  }
  const after = cause?.counterfactual;
  if (after) {
    const value = after.observed ? `${whole(after.observed.level)} ${run.unit}` : `held to ${whole(after.held_to)}`;
    const unit = after.scale === "clients" ? "clients" : run.unit;
    const predicted = after.predicted ? `, predicted ${range(after.predicted)} ${unit}` : "";
    all.push({ name: "With one change", value, note: `${after.change.setting} ${after.change.to} alone${predicted}` });
  }
  if (v.proof) {
    const p = v.proof;
    const pairs = `${whole(p.failures[0])} → ${whole(p.failures[1])} failures in ${p.pairs} pairs`;
    all.push({ name: capital(data.counted.failed), value: `${percent(p.failed_before.value)} → ${percent(p.failed_after.value)}`, note: pairs });
  }
  if (v.next?.clients) {
    const note = `${v.next.setting} = ${v.next.value}`;
    all.push({ name: broke ? "Next limit" : "First limit", value: `${range(v.next.clients)} clients`, note });
  } else if (v.next?.rate) {
    all.push({ name: "Next limit", value: `${range(v.next.rate, number)} requests/s`, note: `${v.next.setting} = ${v.next.value}` });
  }
  return all.slice(0, 4);
}

export function headline(text: string): HTMLElement {
  const colon = text.indexOf(":");
  // A long answer is set smaller, so that what follows stays in sight.
  const size = text.length > 90 ? { class: "long" } : {};
  if (colon < 0 || colon > 24) return h("h1", size, ...prose(text));
  return h("h1", size, h("em", {}, text.slice(0, colon + 1)), ...prose(text.slice(colon + 1)));
}

/** Tiles in a row; nothing without any. */
export function tileList(shown: Tile[]): HTMLElement | null {
  const tile = (t: Tile) => h("div", {}, h("dt", {}, t.name), h("dd", {}, h("strong", {}, t.value), h("span", {}, t.note)));
  return shown.length > 0 ? h("dl", { class: "tiles" }, ...shown.map(tile)) : null;
}

export function verdict(data: PageData, run: Run): HTMLElement {
  const v = data.findings.verdict;
  const about = (...names: Sentence["about"][]) => data.said.filter((s) => names.includes(s.about));
  const answer = about("answer")[0]?.text ?? "No answer.";
  const paragraphs = (found: Sentence[]) => found.map((s) => h("p", {}, ...prose(s.text)));
  const shown = tiles(data, run);
  return h(
    "section",
    { id: "verdict", class: `hero ${v.outcome}`, tabindex: -1, "aria-label": "Verdict" },
    outcome(v.outcome, data.words.outcomes[v.outcome] ?? v.outcome),
    headline(answer),
    h("div", { class: "lead" }, ...paragraphs(about("broke", "test"))),
    tileList(shown),
    h(
      "div",
      { class: "columns" },
      block("What the proof says", paragraphs(about("proof"))),
      block("What was measured", paragraphs(about("held"))),
      block(v.trials.some((t) => t.broke) ? "What breaks next" : "What would break first", paragraphs(about("next"))),
      block("How sure", paragraphs(about("sure"))),
      block("Keep in mind", paragraphs(about("caveat"))),
    ),
  );
}

export function block(title: string, content: HTMLElement[]): HTMLElement | null {
  return content.length > 0 ? h("div", {}, h("h2", {}, title), ...content) : null;
}
