// The page of a comparison of caches: who is faster cold and warm, what a request costs, the highest rates, the rules of HTTP.
import { intervals, type Row } from "../charts/intervals";
import { h, prose, table, typeset } from "../element";
import { bytes, number, range, seconds, whole } from "../format";
import type { Estimate } from "../model";
import type { Run } from "../run";
import { environment } from "../sections/environment";
import { type Sections, section } from "../sections/section";
import type { CacheData, CacheStanding, PassFinding } from "./model";

const symbols = { holds: "✓", fails: "✕", invalid: "!", unfinished: "…" };
const outcomes = {
  holds: "every cache answered every request, correctly",
  fails: "something went wrong: see below",
  invalid: "the client was the limit",
  unfinished: "cut off before there was an answer",
};

/** A figure without repeats: its own interval. */
function exact(value: number): Estimate {
  return { value, interval: { low: value, high: value }, n: 1 };
}

function list(items: string[]): HTMLElement | null {
  return items.length > 0 ? h("ul", { class: "notes" }, ...items.map((item) => h("li", {}, ...prose(item)))) : null;
}

function answer({ cache, words }: CacheData): HTMLElement {
  return h(
    "section",
    { id: "verdict", class: `hero ${cache.outcome}`, "aria-label": "Answer" },
    h("p", { class: "outcome" }, h("span", { class: "symbol", "aria-hidden": "true" }, symbols[cache.outcome]), outcomes[cache.outcome]),
    h("h1", { class: "long" }, ...prose(words.headline)),
    ...words.answers.map((text) => h("p", {}, ...prose(text))),
    h("p", { class: "aside" }, ...prose(`${words.budget} A rank is a range where the intervals do not decide it.`)),
  );
}

/** What is measured of a standing; none: it cannot be told. */
interface Measure {
  title: string;
  of: (one: CacheStanding) => Estimate | null;
  show: (value: number) => string;
}

const some = (value: number | null) => (value === null ? null : exact(value));

export const measures: Measure[] = [
  { title: "Requests a second", of: (one) => one.rate, show: whole },
  { title: "Processor time of the cache, a request", of: (one) => exact(one.cost.cpu), show: seconds },
  { title: "Processor time of the origin, a request", of: (one) => exact(one.cost.origin_cpu), show: seconds },
  { title: "Memory of its processes", of: (one) => exact(one.cost.memory), show: bytes },
  { title: "Read from disk, a request", of: (one) => some(one.cost.read), show: bytes },
  { title: "Written to disk, a request", of: (one) => some(one.cost.written), show: bytes },
  { title: "Its files in the page cache", of: (one) => some(one.cost.page_cache), show: bytes },
];

/** A measure of everybody, cold above warm. */
function multiple(measure: Measure, names: string[], passes: PassFinding[]): HTMLElement | null {
  const found = names.flatMap((name) =>
    passes.flatMap((pass) => {
      const standing = pass.standings.find((one) => one.name === name);
      const estimate = standing ? measure.of(standing) : null;
      return estimate ? [{ name: `${name}, ${pass.warmth}`, estimate, filled: pass.warmth === "warm" }] : [];
    }),
  );
  if (found.length === 0) return null;
  const said = (row: Row) => typeset(measure.show(row.estimate.value));
  const label = `${measure.title}. ${found.map((row) => `${row.name}: ${said(row)}`).join("; ")}`;
  return h(
    "div",
    { class: "card" },
    h("h3", {}, measure.title),
    h("div", { class: "pair" }, h("ul", {}, ...found.map((row) => h("li", {}, h("span", { class: "key" }, `${row.name} `), h("strong", {}, said(row))))), intervals(found, label)),
  );
}

function multiples({ cache }: CacheData): HTMLElement {
  const names = cache.participants.map((one) => one.name);
  const cards = measures.map((measure) => multiple(measure, names, cache.passes));
  const lead = "Hollow: cold, the cache was empty. Filled: warm, asked for the same again. Whiskers are 95 % intervals over rounds; costs are means.";
  return section("costs", "Speed and cost", lead, h("div", { class: "cards servers" }, ...cards.filter((card) => card !== null)));
}

function figures({ words }: CacheData): HTMLElement {
  const right = words.columns.map((_, i) => i).slice(1);
  const tables = words.passes.map(({ title, rows }) => h("div", {}, h("h3", {}, title), table(title, words.columns, rows, right)));
  return section("figures", "Every figure", null, ...tables);
}

function pairs({ cache }: CacheData): HTMLElement | null {
  const tables = cache.passes.map((pass) => {
    const rows = pass.pairs.map((pair) => [
      `${pair.faster} / ${pair.slower}`,
      `${number(pair.ratio.value)}×`,
      range(pair.ratio.interval, number),
      pair.certain ? "yes" : "not distinguishable",
    ]);
    const head = ["faster / slower", "ratio", "interval, all pairs together", "differ"];
    const summary = h("summary", {}, `Every pair, ${pass.warmth}`);
    return rows.length > 0 ? h("details", {}, summary, table(`Every pair, ${pass.warmth}`, head, rows, [1, 2])) : null;
  });
  const shown = tables.filter((one) => one !== null);
  return shown.length > 0 ? section("pairs", "Two by two", "Rates of the same round are compared.", ...shown) : null;
}

function highest({ cache, words }: CacheData): HTMLElement | null {
  if (words.held.length === 0) return null;
  const lead = `The highest rate offered at which ${cache.objective} held, and the lowest at which it did not. One search each, without repeats.`;
  return section("rates", "Highest rates", lead, table("Highest rates", ["cache", "cold", "warm"], words.held, [1, 2]));
}

function rules({ words }: CacheData): HTMLElement | null {
  if (words.rules.rows.length === 0) return null;
  return section("rules", "Rules of HTTP", "Each tried with a few requests on pages made for it.", table("Rules of HTTP", words.rules.head, words.rules.rows));
}

function caches({ cache, words }: CacheData): HTMLElement {
  const rows = cache.participants.map((one, i) => [one.name, one.version, one.store, words.settings[i] ?? "", words.limits[i] ?? "–"]);
  const lead = "Every setting that is not the product's own default.";
  return section("caches", "The caches as they ran", lead, table("Caches", ["cache", "version", "keeps objects in", "settings", "caps"], rows));
}

/** The page of a comparison of caches. */
export function cachePage(data: CacheData, run: Run): Sections {
  const troubles = list(data.words.troubles);
  const caveats = list(data.words.caveats);
  const all = [
    troubles && section("troubles", "What went wrong", null, troubles),
    multiples(data),
    figures(data),
    pairs(data),
    highest(data),
    rules(data),
    caveats && section("caveats", "How sure that is", null, caveats),
    caches(data),
    environment(run),
  ];
  return { hero: answer(data), answer: data.words.headline, sections: all.filter((s) => s !== null) };
}
