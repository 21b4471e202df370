// Latency percentiles of each interval over time.
import type { Figure, Option } from "../chart";
import { number, seconds } from "../format";
import type { Break, Point } from "../model";
import type { Trial } from "../run";
import { colour } from "../theme";
import { end } from "./load";
import { breakMark, line, margins, text, timeAxis, tooltip, valueAxis } from "./time";

type Key = "p50" | "p90" | "p99";

const lines: { key: Key; name: string; tone: string; dash: "solid" | number[] }[] = [
  { key: "p99", name: "p99", tone: "p99", dash: "solid" },
  { key: "p90", name: "p90", tone: "p90", dash: [7, 4] },
  { key: "p50", name: "p50 (median)", tone: "p50", dash: [2, 3] },
];

const TOP = 64;

/** Seconds or milliseconds for a whole axis, by its largest value. */
export function unitFor(largest: number): { name: string; scale: number } {
  return largest < 2 ? { name: "ms", scale: 1000 } : { name: "s", scale: 1 };
}

export function latencyFigure(trial: Trial, broke: Break | null, counted: string): Figure {
  const worst = trial.points.reduce<Point | null>((a, p) => ((p.p99 ?? 0) > (a?.p99 ?? 0) ? p : a), null);
  const description = worst?.p99
    ? `Median, 90th and 99th percentile of successful ${counted} in each interval. The largest p99 is ${seconds(worst.p99)}, ${number(worst.at)} seconds into the load.`
    : `No interval had enough successful ${counted} for percentiles.`;
  return {
    title: `Latency of successful ${counted}, from the planned instant`,
    description,
    height: (width) => TOP + (width < 560 ? 180 : 230) + 34,
    option: (width) => option(trial, broke, width),
    head: ["seconds", "p50", "p90", "p99"],
    rows: () => trial.points.map((p) => [number(p.at), ...[p.p50, p.p90, p.p99].map((v) => (v === null ? "too few" : seconds(v)))]),
  };
}

function option(trial: Trial, broke: Break | null, width: number): Option {
  const last = end(trial);
  const largest = Math.max(0, ...trial.points.map((p) => p.p99 ?? p.p90 ?? p.p50 ?? 0));
  const unit = unitFor(largest);
  const series = lines.map(({ key, name, tone, dash }, i) =>
    line(
      name,
      tone,
      dash,
      trial.points.map((p) => [p.at, p[key] === null ? null : p[key] * unit.scale]),
      broke && i === 0 ? { markLine: breakMark(broke.at, last, "break") } : {},
    ),
  );
  const item = { ...text(), color: colour("ink"), fontSize: 13 };
  return {
    animation: false,
    legend: { top: 0, left: 0, itemWidth: 30, itemHeight: 8, itemGap: 18, icon: "inherit", textStyle: item, selectedMode: false },
    tooltip: tooltip((name, value) => (typeof value[1] === "number" ? `${name}: ${seconds(value[1] / unit.scale)}` : null)),
    grid: { ...margins(width), top: TOP, height: width < 560 ? 180 : 230 },
    xAxis: timeAxis(last, width),
    yAxis: valueAxis(`latency (${unit.name})`, number),
    series,
  };
}
