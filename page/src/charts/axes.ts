// Axes, lines and pointers that every chart over time shares.
import { number, seconds } from "../format";
import { h } from "../element";
import { colour } from "../theme";

/** Room around the drawing area; the same left and right in every chart, so that their times line up. */
export function margins(width: number): { left: number; right: number } {
  return width < 560 ? { left: 46, right: 40 } : { left: 64, right: 60 };
}

const font = () => ({ fontFamily: "Inter Variable, system-ui, sans-serif", fontSize: 12, color: colour("muted") });

export const text = font;

/** The time axis; `last` is where it ends. */
export function timeAxis(last: number, width: number, more: object = {}): object {
  return {
    type: "value",
    min: 0,
    max: last,
    splitNumber: width < 560 ? 4 : 8,
    axisLine: { lineStyle: { color: colour("axis") } },
    axisTick: { show: true, lineStyle: { color: colour("axis") } },
    splitLine: { show: false },
    axisLabel: { ...font(), formatter: (v: number) => `${number(v)} s`, hideOverlap: true, showMaxLabel: last % 5 === 0 },
    axisPointer: { show: true, type: "line", label: { show: false }, lineStyle: { color: colour("muted"), type: "solid", width: 1 } },
    ...more,
  };
}

/** A value axis with its name on top. */
export function valueAxis(name: string, show: (v: number) => string, more: object = {}): object {
  return {
    type: "value",
    name,
    nameLocation: "end",
    nameGap: 12,
    nameTextStyle: { ...font(), align: "left", padding: [0, 0, 0, -36] },
    min: 0,
    splitNumber: 4,
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: colour("line") } },
    axisLabel: { ...font(), formatter: show },
    ...more,
  };
}

/** A plain line through points. */
export function line(name: string, tone: string, dash: "solid" | number[], data: (number | null)[][], more: object = {}): object {
  return {
    name,
    type: "line",
    data,
    showSymbol: false,
    symbol: "circle",
    symbolSize: 6,
    lineStyle: { color: colour(tone), width: 2, type: dash },
    itemStyle: { color: colour(tone) },
    emphasis: { disabled: true },
    animation: false,
    ...more,
  };
}

/** The break as a vertical line with its words beside it. */
export function breakMark(at: number, last: number, words: string): object {
  const late = at > last * 0.55;
  return {
    silent: true,
    symbol: ["none", "none"],
    lineStyle: { color: colour("ink"), width: 1.25, type: [6, 3, 1.5, 3] },
    label: {
      show: true,
      position: "end",
      rotate: 0,
      align: late ? "right" : "left",
      verticalAlign: "top",
      offset: [late ? -6 : 6, 2],
      formatter: words,
      fontFamily: "Inter Variable, system-ui, sans-serif",
      fontSize: 12.5,
      fontWeight: 600,
      color: colour("ink"),
      backgroundColor: colour("card"),
      padding: [2, 4],
      borderRadius: 3,
    },
    data: [{ xAxis: at }],
  };
}

interface Hovered {
  seriesName?: string;
  value?: unknown;
  color?: unknown;
}

/** The box beside the pointer: the time, then a line for each series. Built of elements, so text stays text. */
export function tooltip(show: (name: string, value: unknown[]) => string | null): object {
  return {
    trigger: "axis",
    confine: true,
    transitionDuration: 0,
    backgroundColor: colour("card"),
    borderColor: colour("line"),
    padding: [8, 12],
    textStyle: { ...font(), color: colour("ink"), fontSize: 13 },
    formatter: (hovered: Hovered | Hovered[]) => {
      const all = Array.isArray(hovered) ? hovered : [hovered];
      const first = all[0]?.value;
      const at = Array.isArray(first) ? Number(first[0]) : 0;
      const lines = all.flatMap(({ seriesName = "", value }) => {
        const words = Array.isArray(value) ? show(seriesName, value) : null;
        return words === null ? [] : [h("div", {}, words)];
      });
      return h("div", { class: "tip" }, h("strong", {}, `${seconds(Math.round(at * 10) / 10)} into the load`), ...lines);
    },
  };
}
