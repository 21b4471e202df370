// A figure from round to round: a line a contender, rings where something held it up.
import type { Figure, Option } from "./figure";
import { h } from "../element";
import { number } from "../format";
import { colour } from "../theme";
import { toneOf } from "../tones";
import type { Series, Trend } from "../types";
import { line, margins, text, valueAxis } from "./axes";

/** The chart. */
export function trend(plot: Trend): Figure {
  return { height: () => 250, option: (width) => option(plot, width) };
}

function drawn({ name, tone: place, points, rings }: Series): object[] {
  const tone = toneOf(place);
  const all = line(name, tone.colour, tone.dash, points, { symbol: tone.symbol, showSymbol: true });
  const ring = { color: "transparent", borderColor: colour(tone.colour), borderWidth: 2 };
  const around = { name: `${name}, paused`, type: "scatter", data: rings, symbol: "circle", symbolSize: 16, itemStyle: ring, animation: false };
  return rings.length > 0 ? [all, around] : [all];
}

function option({ step, last, unit, lines }: Trend, width: number): Option {
  return {
    aria: { enabled: false },
    grid: { ...margins(width), top: 32, bottom: 28 },
    tooltip: {
      trigger: "axis",
      confine: true,
      transitionDuration: 0,
      backgroundColor: colour("card"),
      borderColor: colour("line"),
      formatter: (hovered: Hovered | Hovered[]) => tip(hovered, step, unit),
    },
    xAxis: {
      type: "value",
      min: 1,
      max: last,
      minInterval: 1,
      axisLabel: { ...text(), hideOverlap: true },
      axisLine: { lineStyle: { color: colour("axis") } },
      splitLine: { show: false },
    },
    yAxis: valueAxis(unit, (v) => String(v)),
    series: lines.flatMap(drawn),
  };
}

interface Hovered {
  seriesName?: string;
  value?: unknown;
}

function tip(hovered: Hovered | Hovered[], step: string, unit: string): HTMLElement {
  const all = Array.isArray(hovered) ? hovered : [hovered];
  const lines = all.flatMap(({ seriesName = "", value }) => {
    if (!Array.isArray(value) || typeof value[1] !== "number") return [];
    const shown = typeof value[2] === "number" ? value[2] : value[1];
    return [h("div", {}, `${seriesName}: ${number(shown)} ${unit}`)];
  });
  const first = all[0]?.value;
  return h("div", { class: "tip" }, h("strong", {}, `${step} ${Array.isArray(first) ? String(first[0]) : ""}`), ...lines);
}
