// A figure from block to block: a line a contender, and the control.
import { chart, type Figure, type Option } from "../chart";
import { line, margins, text, valueAxis } from "../charts/time";
import { type Tone, toneOf } from "../contest/tones";
import { number } from "../format";
import { colour } from "../theme";
import type { ComparisonFinding, Turn } from "./model";

/** What a contender's control is called. */
export const controlOf = (name: string) => `${name}, again`;

/** A figure whose values are told in another unit. */
export interface Shown {
  /** Its place among the figures. */
  at: number;
  title: string;
  unit: string;
  factor: number;
}

/** Lines of a figure: name of the contender or its control, points of block and value. */
export function lines(found: ComparisonFinding, shown: Shown): [string, [number, number | null][]][] {
  const all = new Map<string, [number, number | null][]>();
  for (const { name } of found.comparison.contenders) all.set(name, []);
  for (const turn of found.turns) {
    const name = turn.control ? controlOf(turn.contender) : turn.contender;
    const points = all.get(name) ?? [];
    points.push([turn.block, value(turn, shown)]);
    all.set(name, points);
  }
  return [...all].filter(([, points]) => points.length > 0);
}

function value(turn: Turn, shown: Shown): number | null {
  const raw = turn.counts ? turn.values[shown.at] : null;
  return raw === null || raw === undefined ? null : raw * shown.factor;
}

/** The chart of a figure. */
export function blocks(found: ComparisonFinding, shown: Shown, tones: Map<string, Tone>): HTMLElement {
  const all = lines(found, shown);
  const most = Math.max(2, ...found.turns.map((turn) => turn.block));
  const option = (width: number): Option => ({
    aria: { enabled: false },
    grid: { ...margins(width), top: 32, bottom: 28 },
    tooltip: { trigger: "axis", confine: true, transitionDuration: 0, backgroundColor: colour("card"), borderColor: colour("line") },
    xAxis: {
      type: "value",
      min: 1,
      max: most,
      minInterval: 1,
      axisLabel: { ...text(), hideOverlap: true },
      axisLine: { lineStyle: { color: colour("axis") } },
      splitLine: { show: false },
    },
    yAxis: valueAxis(shown.unit, (v) => String(v)),
    series: all.map(([name, points]) => {
      const tone = toneOf(tones, name);
      return line(name, tone.colour, tone.dash, points, { symbol: tone.symbol, showSymbol: true });
    }),
  });
  const figure: Figure = {
    title: `${shown.title}, ${shown.unit}`,
    description: `${shown.title} of each turn, block by block, a line for each of ${all.map(([name]) => name).join(", ")}.`,
    height: () => 240,
    option,
    head: ["block", ...all.map(([name]) => name)],
    rows: () =>
      Array.from({ length: most }, (_, i) => i + 1).map((block) => [
        String(block),
        ...all.map(([, points]) => {
          const of = points.find(([at]) => at === block)?.[1];
          return of === null || of === undefined ? "–" : number(of);
        }),
      ]),
  };
  return chart(figure);
}
