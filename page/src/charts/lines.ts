// Lines over time, one drawing area above the other, with log lines beneath on the same axis.
import type { Figure, Option } from "./figure";
import { number, whole } from "../format";
import { colour } from "../theme";
import type { Axis, Dash, Lane, Pane, Time, Trace } from "../types";
import { breakMark, line, margins, text, timeAxis, tooltip, valueAxis } from "./axes";

/** Height of a lane of log lines. */
const LANE = 26;
/** Between two drawing areas. */
const BETWEEN = 56;
/** Of the numbers under an axis. */
const FOOT = 34;

const symbols: Record<string, string> = { warn: "circle", error: "diamond", alert: "triangle", crit: "triangle", emerg: "triangle" };
const dashes: Record<Dash, "solid" | number[]> = { solid: "solid", dashed: [7, 4], dotted: [2, 3], fine: [1.5, 3.5] };

const narrow = (width: number) => width < 560;

/** Room for the legend, which takes two lines where it is narrow and there are panes with two axes. */
function top(time: Time, width: number): number {
  if (!time.legend) return 40;
  return narrow(width) && time.panes.some((pane) => pane.axes.length > 1) ? 84 : 64;
}

/** Where each area begins, and its height; where the last one ends comes last. */
function places(time: Time, width: number): { areas: { top: number; height: number }[]; end: number } {
  let next = top(time, width);
  const areas = time.panes.map(({ height: [wide, small] }) => {
    const area = { top: next, height: narrow(width) ? small : wide };
    next += area.height + BETWEEN;
    return area;
  });
  return { areas, end: next - BETWEEN };
}

/** The chart. */
export function lines(time: Time): Figure {
  const lanes = time.lanes.length > 0 ? time.lanes.length * LANE + 22 : 0;
  return { height: (width) => places(time, width).end + FOOT + lanes, option: (width) => option(time, width) };
}

function axes(pane: Pane, gridIndex: number): object[] {
  const one = ({ name, most, steps }: Axis, i: number) => {
    const right = { position: "right", splitLine: { show: false }, nameTextStyle: { ...text(), align: "right", padding: [0, -34, 0, 0] } };
    return valueAxis(name, number, { gridIndex, splitNumber: steps, ...(most === null ? {} : { max: most }), ...(i > 0 ? right : {}) });
  };
  return pane.axes.map(one);
}

function trace(one: Trace, xAxisIndex: number, yAxisIndex: number, more: object): object {
  const dash = dashes[one.dash];
  return line(one.name, one.tone, dash, one.points, {
    xAxisIndex,
    yAxisIndex,
    ...(one.stepped ? { step: "middle" } : {}),
    ...(one.area > 0 ? { areaStyle: { color: colour(one.tone), opacity: one.area } } : {}),
    ...(one.dash === "fine" ? { lineStyle: { color: colour(one.tone), width: 1.75, type: dash } } : {}),
    ...more,
  });
}

function option(time: Time, width: number): Option {
  const { last, panes, lanes, mark } = time;
  const { left, right } = margins(width);
  const { areas, end } = places(time, width);
  const bare = { axisLabel: { show: false }, axisTick: { show: false } };
  const grids: object[] = areas.map((area) => ({ left, right, ...area }));
  const xs: object[] = panes.map((_, gridIndex) => timeAxis(last, width, { gridIndex, ...(gridIndex < panes.length - 1 ? bare : {}) }));
  const ys: object[] = [];
  const series: object[] = [];
  panes.forEach((pane, i) => {
    const first = ys.length;
    ys.push(...axes(pane, i));
    const marked = (n: number) => (mark && i === 0 && n === 0 ? { markLine: breakMark(mark.at, last, mark.words) } : {});
    series.push(...pane.traces.map((one, n) => trace(one, i, first + one.axis, marked(n))));
  });
  if (lanes.length > 0) {
    const at = { xAxisIndex: grids.length, yAxisIndex: ys.length };
    xs.push(timeAxis(last, width, { gridIndex: grids.length, ...bare, axisLine: { show: false } }));
    ys.push(laneAxis(lanes, grids.length));
    grids.push({ left, right, top: end + FOOT, height: lanes.length * LANE });
    series.push(...lanes.map((lane, i) => laneSeries(lane, lanes.length - 1 - i, i === 0 ? (mark?.at ?? null) : null, at)));
  }
  const traces = panes.flatMap((pane) => pane.traces);
  const legend = { top: 0, left: 0, itemWidth: 30, itemHeight: 8, itemGap: 18, icon: "inherit", textStyle: { ...text(), color: colour("ink"), fontSize: 13 }, data: traces.map(({ name }) => name), selectedMode: false };
  return {
    animation: false,
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    ...(time.legend ? { legend } : {}),
    tooltip: tooltip((name, value) => hovered(name, value, traces, lanes)),
    grid: grids,
    xAxis: xs,
    yAxis: ys,
    series,
  };
}

/** One row a lane, named by who wrote it; the words are in the list beneath, where there is room for them. */
function laneAxis(found: Lane[], gridIndex: number): object {
  return {
    type: "category",
    gridIndex,
    data: [...found].reverse().map((l) => l.name),
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { ...text(), inside: true, margin: 2, interval: 0, backgroundColor: colour("paper"), padding: [2, 4] },
    z: 5,
    splitLine: { show: true, interval: 0, lineStyle: { color: colour("line") } },
  };
}

function laneSeries(lane: Lane, row: number, broke: number | null, axes: object): object {
  const tone = lane.level === "warn" || lane.level === "notice" ? "doubt" : "fail";
  return {
    name: lane.name,
    type: "scatter",
    ...axes,
    symbol: symbols[lane.level] ?? "rect",
    symbolSize: (_: unknown, at: { dataIndex: number }) => 5 + Math.min(9, Math.sqrt(lane.marks[at.dataIndex]?.count ?? 1)),
    itemStyle: { color: colour(tone), opacity: 0.75 },
    animation: false,
    data: lane.marks.map((m) => [m.at, row, m.count, m.text]),
    ...(broke !== null ? { markLine: { ...breakMark(broke, broke, ""), label: { show: false } } } : {}),
  };
}

function hovered(name: string, value: unknown[], traces: Trace[], lanes: Lane[]): string | null {
  const of = traces.find((one) => one.name === name);
  if (of) return typeof value[1] === "number" ? words(of, number(value[1])) : null;
  const lane = lanes.find((one) => one.name === name);
  return lane ? `${lane.name}: ${String(value[3])} (×${whole(Number(value[2]))})` : null;
}

/** `1,200 successful/s`, `p99: 12 ms`. */
function words({ name, unit }: Trace, value: string): string {
  if (unit === name || unit === "") return `${value} ${name}`;
  return `${name}: ${value} ${unit}`;
}
