// The page of a comparison of caches: who is faster cold and warm, what a request costs, the highest rates, the rules of HTTP.
import { type Entry, intervals } from "../charts/intervals";
import { h, prose, table, typeset } from "../element";
import { bytes, number, range, seconds, whole } from "../format";
import type { Estimate } from "../model";
import type { Run } from "../run";
import { answer, notes } from "../sections/answer";
import { environment } from "../sections/environment";
import { type Sections, section } from "../sections/section";
import type { CacheData, CacheStanding, Pair, PassFinding, RateFinding } from "./model";

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

function head({ cache, words }: CacheData): HTMLElement {
  return answer(
    cache.outcome,
    outcomes,
    words.headline,
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

/** What is known of somebody in a pass or a search. */
interface Known {
  name: string;
  warmth: "cold" | "warm";
  estimate: Estimate | null;
}

/** A measure of everybody, cold above warm. */
function multiple(measure: Measure, names: string[], passes: PassFinding[]): HTMLElement | null {
  const known = passes.flatMap(({ warmth, standings }) => standings.map((one): Known => ({ name: one.name, warmth, estimate: measure.of(one) })));
  return chart(measure.title, names, known, measure.show);
}

/** Figures of everybody as small drawings, "–" where one is not known; none: no figure is. */
function chart(title: string, names: string[], known: Known[], show: (value: number) => string): HTMLElement | null {
  if (known.every((one) => one.estimate === null)) return null;
  const entries = names.map((name): Entry => {
    const marks = known.filter((one) => one.name === name).map(({ estimate, warmth }) => {
      const value = estimate ? typeset(show(estimate.value)) : "–";
      return { estimate, filled: warmth === "warm", value };
    });
    return { name, marks };
  });
  return h("div", { class: "card" }, h("h3", {}, title), intervals(entries));
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

/** Each two of a pass or a search, folded away. */
function every(title: string, pairs: Pair[]): HTMLElement | null {
  const rows = pairs.map((pair) => [
    `${pair.faster} / ${pair.slower}`,
    `${number(pair.ratio.value)}×`,
    range(pair.ratio.interval, number),
    pair.certain ? "yes" : "not distinguishable",
    pair.certain ? "–" : (pair.more?.toString() ?? "more than 1,000, or no number"),
  ]);
  const head = ["faster / slower", "ratio", "interval, all pairs together", "differ", "more rounds it would take"];
  return rows.length > 0 ? h("details", {}, h("summary", {}, title), table(title, head, rows, [1, 2, 4])) : null;
}

function pairs({ cache }: CacheData): HTMLElement | null {
  const passes = cache.passes.map((pass) => every(`Every pair, ${pass.warmth} pass`, pass.pairs));
  const rates = cache.held.map((rates) => every(`Every pair, highest rates ${rates.warmth}`, rates.pairs));
  const shown = [...passes, ...rates].filter((one) => one !== null);
  return shown.length > 0 ? section("pairs", "Two by two", "Rates of the same round are compared.", ...shown) : null;
}

/** Highest rates of everybody, cold above warm. */
function drawn(held: RateFinding[]): HTMLElement | null {
  const of = ({ warmth, standings }: RateFinding) => standings.map(({ name, rate }): Known => ({ name, warmth, estimate: rate }));
  const known = held.flatMap(of);
  return chart("Highest rate, requests a second", [...new Set(known.map((one) => one.name))], known, whole);
}

function highest({ cache, words }: CacheData): HTMLElement | null {
  if (words.held.length === 0) return null;
  const lead = `The highest rate at which ${cache.objective} holds and requests do not pile up, searched anew in every round: the mean with its 95 % interval, which has the spread over rounds and the width of the steps in it.`;
  const rows = table("Highest rates", words.rates, words.held, [1, 2, 3, 4]);
  const card = drawn(cache.held);
  return section("rates", "Highest rates", lead, ...(card ? [h("div", { class: "cards servers" }, card)] : []), rows);
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
  const troubles = notes(data.words.troubles);
  const caveats = notes(data.words.caveats);
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
  return { hero: head(data), answer: data.words.headline, sections: all.filter((s) => s !== null) };
}
