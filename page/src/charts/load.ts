// Requests and failures a second over time, the load beside them, the servers' log lines beneath on the same axis.
import type { Figure, Option } from "../chart";
import { capital, number, percent, whole } from "../format";
import type { Break } from "../model";
import { lanes, type Lane, type Trial } from "../run";
import { colour } from "../theme";
import { breakMark, line, margins, text, timeAxis, tooltip, valueAxis } from "./time";

const OK = "successful/s";
const FAILED = "failures/s";
/** Height of a lane of log lines. */
export const LANE = 26;

const symbols: Record<string, string> = { warn: "circle", error: "diamond", alert: "triangle", crit: "triangle", emerg: "triangle" };

/** Where the drawing of a trial ends, in seconds. */
export function end(trial: Trial): number {
  const points = trial.points;
  const last = points.at(-1);
  const before = points.at(-2);
  if (!last) return 1;
  const half = before ? (last.at - before.at) / 2 : 0;
  return Math.round((last.at + half) * 1000) / 1000;
}

/** Room for the legend, which takes two lines where it is narrow. */
function top(width: number): number {
  return width < 560 ? 84 : 64;
}

function upper(width: number): number {
  return width < 560 ? 230 : 320;
}

export function loadFigure(trial: Trial, broke: Break | null, unit: string, words: string | null, counted: string): Figure {
  const found = lanes(trial.logs);
  return {
    title: `${capital(counted)} and failures over time`,
    description: describe(trial, unit, words, found, counted),
    height: (width) => top(width) + upper(width) + 34 + (found.length > 0 ? found.length * LANE + 22 : 0),
    option: (width) => option(trial, broke, unit, words, found, width, counted),
    head: ["seconds", "successful/s", "failures/s", unit, "in flight"],
    rows: () => trial.points.map((p) => [number(p.at), number(p.ok), number(p.failed), whole(p.level), whole(p.in_flight)]),
  };
}

function describe(trial: Trial, unit: string, words: string | null, found: Lane[], counted: string): string {
  const most = Math.max(0, ...trial.points.map((p) => p.ok));
  const worst = Math.max(0, ...trial.points.map((p) => p.failed));
  const level = trial.points.at(-1)?.level ?? 0;
  const logs = found.map((l) => `${l.name}: ${l.text}, ${whole(l.count)} lines from second ${number(l.first)}`).join("; ");
  return (
    `The load rises to ${whole(level)} ${unit}. Successful ${counted} reach ${number(most)} a second, failures ${number(worst)} a second. ` +
    `${words ? `${words}. ` : ""}${logs ? `Log lines: ${logs}.` : "No server wrote to its log."}`
  );
}

function option(trial: Trial, broke: Break | null, unit: string, words: string | null, found: Lane[], width: number, counted: string): Option {
  const last = end(trial);
  const { left, right } = margins(width);
  const height = upper(width);
  const below = top(width) + height + 34;
  const grids: object[] = [{ left, right, top: top(width), height }];
  const narrow = width < 560;
  const xs: object[] = [timeAxis(last, width, { gridIndex: 0 })];
  const ys: object[] = [
    valueAxis(`${counted}/s`, number, { gridIndex: 0 }),
    valueAxis(narrow ? "users" : unit, number, {
      gridIndex: 0,
      position: "right",
      splitLine: { show: false },
      nameTextStyle: { ...text(), align: "right", padding: [0, -34, 0, 0] },
      ...(unit === "users" ? {} : { name: unit }),
    }),
  ];
  const series: object[] = [
    line(OK, "ok", "solid", trial.points.map((p) => [p.at, p.ok]), {
      areaStyle: { color: colour("ok"), opacity: 0.07 },
      ...(broke && words ? { markLine: breakMark(broke.at, last, words) } : {}),
    }),
    line(FAILED, "fail", [7, 4], trial.points.map((p) => [p.at, p.failed])),
    line(unit, "level", [1.5, 3.5], trial.points.map((p) => [p.at, p.level]), { yAxisIndex: 1, lineStyle: { color: colour("level"), width: 1.75, type: [1.5, 3.5] } }),
  ];
  if (found.length > 0) {
    grids.push({ left, right, top: below, height: found.length * LANE });
    xs.push(timeAxis(last, width, { gridIndex: 1, axisLabel: { show: false }, axisTick: { show: false }, axisLine: { show: false } }));
    ys.push(laneAxis(found));
    series.push(...found.map((lane, i) => laneSeries(lane, found.length - 1 - i, broke?.at ?? null, i === 0)));
  }
  return {
    animation: false,
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    legend: legend(unit),
    tooltip: tooltip((name, value) => hovered(name, value, unit, found)),
    grid: grids,
    xAxis: xs,
    yAxis: ys,
    series,
  };
}

function legend(unit: string): object {
  const item = { ...text(), color: colour("ink"), fontSize: 13 };
  return { top: 0, left: 0, itemWidth: 30, itemHeight: 8, itemGap: 18, icon: "inherit", textStyle: item, data: [OK, FAILED, unit], selectedMode: false };
}

/** One row a lane, named by who wrote it; the words are in the list beneath, where there is room for them. */
export function laneAxis(found: Lane[], gridIndex = 1): object {
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

export function laneSeries(lane: Lane, row: number, broke: number | null, first: boolean, axes = { xAxisIndex: 1, yAxisIndex: 2 }): object {
  const tone = lane.level === "warn" || lane.level === "notice" ? "doubt" : "fail";
  return {
    name: lane.key,
    type: "scatter",
    ...axes,
    symbol: symbols[lane.level] ?? "rect",
    symbolSize: (_: unknown, at: { dataIndex: number }) => 5 + Math.min(9, Math.sqrt(lane.marks[at.dataIndex]?.count ?? 1)),
    itemStyle: { color: colour(tone), opacity: 0.75 },
    animation: false,
    data: lane.marks.map((m) => [m.at, row, m.count, m.text]),
    ...(first && broke !== null ? { markLine: { ...breakMark(broke, broke, ""), label: { show: false } } } : {}),
  };
}

function hovered(name: string, value: unknown[], unit: string, found: Lane[]): string | null {
  if (name === OK) return `${number(Number(value[1]))} ${OK}`;
  if (name === FAILED) return `${number(Number(value[1]))} failures/s`;
  if (name === unit) return `${whole(Number(value[1]))} ${unit}`;
  const lane = found.find((l) => l.key === name);
  return lane ? `${lane.name}: ${String(value[3]).slice(0, 90)} (×${whole(Number(value[2]))})` : null;
}

/** Part of requests that failed, for a summary line. */
export function failedShare(failed: number, finished: number): string {
  return finished > 0 ? percent(failed / finished) : "0 %";
}
