// The sections of the page of compared systems.
import { type Entry, intervals } from "../charts/intervals";
import { legend, tones } from "../contest/tones";
import { h, prose, table, typeset } from "../element";
import type { Run } from "../run";
import { answer, notes } from "../sections/answer";
import { environment, rewritten } from "../sections/environment";
import { type Sections, section } from "../sections/section";
import { blocks, controlOf, type Shown } from "./blocks";
import { effects } from "./effects";
import type { ComparisonData, ComparisonFinding, ComparisonWords } from "./model";

const outcomes = {
  holds: "what decides is decided",
  fails: "not everything can be told",
  invalid: "this says nothing of the systems",
  unfinished: "cut off before there was an answer",
};

/** The sentence to quote, and every figure in one table. */
function head({ comparison, words }: ComparisonData): HTMLElement {
  const ranked = !comparison.comparison.base && comparison.subjects.length > 2;
  const rows = words.figures.map((title, n) => [
    title,
    ...words.subjects.map((subject) => typeset(ranked ? `${subject.values[n] ?? "–"} (${subject.ranks[n] ?? ""})` : (subject.values[n] ?? "–"))),
  ]);
  const names = comparison.subjects.map((one) => one.name);
  return answer(
    comparison.outcome,
    outcomes,
    words.headline,
    words.claim ? h("p", {}, ...prose(words.claim)) : null,
    comparison.blocks > 1 ? h("div", { class: "matrix" }, table("Figures", ["figure", ...names], rows, names.map((_, i) => i + 1))) : null,
    h("p", { class: "aside" }, ...prose(words.sure)),
  );
}

/** A card a pair: the effect on every figure, drawn and in words. */
export function cards(comparison: ComparisonFinding, words: ComparisonWords): HTMLElement {
  const all = comparison.pairs.map((pair, i) => {
    const said = words.pairs[i];
    const rows = words.figures.map((title, n) => [title, typeset(said?.sizes[n] ?? "–"), typeset(said?.intervals[n] ?? "–"), said?.calls[n] ?? ""]);
    return h(
      "div",
      { class: "card" },
      h("h3", {}, `${pair.other} beside ${pair.base}`),
      effects(pair, words.figures, comparison.comparison.margin, said?.sentence ?? ""),
      h("p", { class: "aside" }, ...prose(said?.sentence ?? "")),
      h("details", {}, h("summary", {}, "Every figure"), table("Every figure", ["figure", "effect", "interval", "says"], rows, [1, 2])),
    );
  });
  return h("div", { class: "cards servers" }, ...all);
}

/** Each pair. */
function pairs({ comparison, words }: ComparisonData): HTMLElement | null {
  if (comparison.blocks < 2) return null;
  const lead = "Left of the line is less, right of it more. The band is the margin: an interval within it is no difference that matters. Intervals hold together.";
  return section("pairs", "What differs", lead, cards(comparison, words));
}

/** A small drawing a figure, a row a contender. */
function figures({ comparison, words }: ComparisonData): HTMLElement | null {
  if (comparison.blocks < 2) return null;
  const cards = words.figures.map((title, n) => {
    const entries = comparison.subjects.map(({ name, figures }, i): Entry => {
      const value = typeset(words.subjects[i]?.values[n] ?? "–");
      return { name, marks: [{ estimate: figures[n]?.value ?? null, filled: name !== comparison.comparison.base, value }] };
    });
    return h("div", { class: "card" }, h("h3", {}, title), intervals(entries));
  });
  const lead = "Means over blocks with 95 % intervals of their own; what differs is decided block by block above, not by whether these overlap.";
  return section("figures", "Contender by contender", lead, h("div", { class: "cards servers" }, ...cards));
}

const told: Shown[] = [
  { at: 1, title: "Throughput", unit: "responses/s", factor: 1 },
  { at: 3, title: "p95 latency", unit: "ms", factor: 1e3 },
  { at: 6, title: "CPU per request", unit: "µs", factor: 1e6 },
  { at: 7, title: "Memory", unit: "MiB", factor: 1 / 1048576 },
];

/** Each figure from block to block. */
function overBlocks({ comparison }: ComparisonData): HTMLElement | null {
  if (comparison.turns.length === 0) return null;
  const names = comparison.comparison.contenders.map((one) => one.name);
  const again = comparison.turns.find((turn) => turn.control);
  const all = tones(again ? [...names, controlOf(again.contender)] : names);
  const shown = told.filter(({ at }) => comparison.turns.some((turn) => turn.values[at] !== null && turn.values[at] !== undefined));
  const charts = shown.map((one) => blocks(comparison, one, all));
  const lead = "Every turn, started anew. What drifts on the machine moves all lines together, and does not touch their differences.";
  return section("blocks", "Block by block", lead, legend(all), h("div", { class: "multiples" }, ...charts));
}

/** How sure it is. */
function sure({ words }: ComparisonData): HTMLElement {
  const items = [words.control, words.stress, ...words.caveats].filter((one) => one !== null);
  return section("caveats", "How sure that is", null, notes(items));
}

/** What private copies differ in from the user's files, folded. */
function copies(comparison: ComparisonFinding, words: ComparisonWords): HTMLElement[] {
  return comparison.subjects.flatMap(({ name, rewrites }, i) => {
    const said = words.subjects[i]?.copy;
    return rewrites && said ? [h("details", {}, h("summary", {}, `${name}: ${said}`), rewritten(rewrites))] : [];
  });
}

/** The systems as they ran. */
function systems({ comparison, words }: ComparisonData): HTMLElement {
  const rows = comparison.subjects.map((one, i) => [
    one.name,
    one.version,
    words.subjects[i]?.settings ?? "",
    words.subjects[i]?.errors ?? "",
    `${one.held} of ${one.turns}`,
  ]);
  const head = ["system", "server", "settings that are not the default", "failures", "objective held, turns"];
  const lead = "Same load, same cores, same backend; started anew for each turn.";
  return section("systems", "The systems as they ran", lead, table("Systems", head, rows), ...copies(comparison, words));
}

/** The page of compared systems. */
export function compared(data: ComparisonData, run: Run): Sections {
  const all = [pairs(data), figures(data), overBlocks(data), sure(data), systems(data), environment(run)];
  return { hero: head(data), answer: data.words.headline, sections: all.filter((s) => s !== null) };
}
