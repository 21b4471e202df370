// Before and after: baseline and proposal in pairs, in an order drawn for each, with 95 % intervals.
import { type Entry, intervals } from "../charts/intervals";
import { h, table } from "../element";
import { capital, number, percent, range, seconds, signed, whole } from "../format";
import type { Estimate, PageData, Proof } from "../model";
import { section } from "./section";

interface Measure {
  name: string;
  all: [Estimate, Estimate, Estimate];
  show: (x: number) => string;
  /** How a difference is shown, where that is not the same. */
  difference?: (x: number) => string;
}

/** The quantile that decided, where it is another than the one always shown. */
function other(judged: Proof["judged"]): Measure[] {
  const name = /^(p[\d.]+|max) </.exec(judged?.condition ?? "")?.[1];
  return judged && name && name !== "p99" ? [{ name: `${name} latency`, all: judged.figures, show: seconds }] : [];
}

/** The measures of a proof. */
export function measures(data: PageData): Measure[] {
  const p = data.findings.verdict.proof;
  if (!p) return [];
  return [
    { name: capital(data.counted.failed), all: [p.failed_before, p.failed_after, p.failed_difference], show: percent, difference: points },
    { name: `Successful ${data.counted.all}/s`, all: p.rate, show: number },
    { name: "p99 latency", all: p.p99, show: seconds },
    ...other(p.judged),
  ];
}

/** The difference of two percentages, in percentage points. */
function points(fraction: number): string {
  return `${number(fraction * 100)} points`;
}

/** What baseline and proposal are called beside a figure, where there is little room. */
export function shortNames(data: PageData): [string, string] {
  const [first, ...others] = data.findings.verdict.proposal;
  return first && others.length === 0 ? [first.change.from, first.change.to] : ["before", "after"];
}

/** What baseline and proposal are called. */
export function names(data: PageData): [string, string] {
  const [first, ...others] = data.findings.verdict.proposal;
  if (!first || others.length > 0) return ["baseline", "proposal"];
  return [`${first.change.setting} ${first.change.from}`, `${first.change.setting} ${first.change.to}`];
}

export function proof(data: PageData): HTMLElement | null {
  const p = data.findings.verdict.proof;
  if (!p) return null;
  const [before, after] = names(data);
  const lead = `${p.pairs} pairs, run in the order ${p.order.split("").join(" ")} (A ${before}, B ${after}). Whiskers are 95 % intervals.`;
  const cards = measures(data).map((m) => card(m, ...shortNames(data)));
  const rows = measures(data).map(({ name, all, show, difference = show }) => [
    name,
    ...all.slice(0, 2).map((e) => `${show(e.value)} (${range(e.interval, show)}, n=${e.n})`),
    `${signed(all[2].value, difference)} (${signed(all[2].interval.low, difference)} to ${signed(all[2].interval.high, difference)})`,
  ]);
  const totals = ["Failures / finished", ...[0, 1].map((i) => `${whole(p.failures[i] ?? 0)} / ${whole(p.finished[i] ?? 0)}`), ""];
  return section(
    "proof",
    "Before and after",
    lead,
    h("div", { class: "cards" }, ...cards),
    table("Before and after", ["", before, after, "difference (95 % interval)"], [...rows, totals], [1, 2, 3]),
  );
}

function card({ name, all, show, difference: gap = show }: Measure, before: string, after: string): HTMLElement {
  const [a, b, difference] = all;
  const entry = (name: string, estimate: Estimate, filled: boolean): Entry => {
    return { name: `${filled ? "●" : "○"} ${name}`, marks: [{ estimate, filled, value: show(estimate.value) }] };
  };
  return h(
    "div",
    { class: "card" },
    h("h3", {}, name),
    intervals([entry(before, a, false), entry(after, b, true)]),
    h("p", { class: "aside" }, `${signed(difference.value, gap)} (${signed(difference.interval.low, gap)} to ${signed(difference.interval.high, gap)})`),
  );
}
