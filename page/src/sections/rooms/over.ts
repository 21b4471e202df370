// A run over time: connections, deliveries and losses on one axis with the servers' log lines; how long deliveries took.
import { chart, type Figure, type Option } from "../../chart";
import { unitFor } from "../../charts/latency";
import { LANE, laneAxis, laneSeries } from "../../charts/load";
import { breakMark, line, margins, text, timeAxis, tooltip, valueAxis } from "../../charts/time";
import { h } from "../../element";
import { number, seconds, whole } from "../../format";
import type { Moment, PageData, RoomsRun } from "../../model";
import { lanes, type Lane, type Run, type Trial } from "../../run";
import { colour } from "../../theme";
import { gaugeList, logList } from "../time";

const HEARD = "deliveries/s";
const LOST = "lost/s";
const OPEN = "connections";

export function over(data: PageData, run: Run, rooms: RoomsRun): HTMLElement {
  const trial = run.trials.find((t) => t.number === rooms.trial);
  const moments = rooms.over ?? [];
  if (!trial || moments.length === 0) return h("p", { class: "aside" }, "Nothing was recorded over time.");
  const faults = data.events.flatMap((e) => (e.event === "note" && e.trial === trial.number && e.id === "fault" ? [(e.at_us - trial.began_us) / 1e6] : []));
  return h(
    "div",
    { class: "trial" },
    trial.states.length > 0 &&
      h("p", { class: "facts" }, trial.states.map((s) => `At ${number(s.at)} s ${s.subject} ${data.words.states[s.state] ?? s.state}${s.detail ? ` (${s.detail})` : ""}.`).join(" ")),
    chart(deliveries(moments, trial, rooms, faults)),
    logList(trial),
    chart(times(moments, rooms)),
    gaugeList(data, trial, null),
  );
}

/** Room for the legend, which takes two lines where it is narrow. */
const top = (width: number) => (width < 560 ? 84 : 64);
const upper = (width: number) => (width < 560 ? 200 : 260);
const LOWER = 90;

/** Where the drawing ends. */
function end(moments: Moment[], rooms: RoomsRun): number {
  return Math.max(rooms.lasted, moments.at(-1)?.at ?? 0);
}

export function deliveries(moments: Moment[], trial: Trial, rooms: RoomsRun, faults: number[]): Figure {
  const found = lanes(trial.logs);
  const most = Math.max(...moments.map((m) => m.heard));
  const lost = moments.filter((m) => m.lost > 0);
  const when = lost.length > 0 ? `Messages that never arrived were sent between ${number(lost[0]?.at ?? 0)} and ${number(lost.at(-1)?.at ?? 0)} seconds.` : "No message was lost.";
  return {
    title: "Connections, deliveries, and when lost messages were sent",
    description: `Deliveries reach ${number(most)} a second with ${whole(Math.max(...moments.map((m) => m.connections)))} connections. ${when}`,
    height: (width) => top(width) + upper(width) + 56 + LOWER + 34 + (found.length > 0 ? found.length * LANE + 22 : 0),
    option: (width) => option(moments, end(moments, rooms), found, faults, width),
    head: ["seconds", OPEN, "messages/s", HEARD, LOST],
    rows: () => moments.map((m) => [number(m.at), whole(m.connections), number(m.sent), number(m.heard), number(m.lost)]),
  };
}

function option(moments: Moment[], last: number, found: Lane[], faults: number[], width: number): Option {
  const { left, right } = margins(width);
  const second = top(width) + upper(width) + 56;
  const third = second + LOWER + 34;
  const grids: object[] = [
    { left, right, top: top(width), height: upper(width) },
    { left, right, top: second, height: LOWER },
  ];
  const bare = { axisLabel: { show: false }, axisTick: { show: false } };
  const xs: object[] = [timeAxis(last, width, { gridIndex: 0, ...bare }), timeAxis(last, width, { gridIndex: 1 })];
  const open = { gridIndex: 0, position: "right", splitLine: { show: false }, nameTextStyle: { ...text(), align: "right", padding: [0, -34, 0, 0] } };
  const ys: object[] = [
    valueAxis(HEARD, number, { gridIndex: 0 }),
    valueAxis(OPEN, number, open),
    valueAxis(LOST, number, { gridIndex: 1, splitNumber: 2, ...(moments.some((m) => m.lost > 0) ? {} : { max: 1 }) }),
  ];
  const mark = faults[0] === undefined ? {} : { markLine: breakMark(faults[0], last, "fault on purpose") };
  const series: object[] = [
    line(HEARD, "ok", "solid", moments.map((m) => [m.at, m.heard]), { areaStyle: { color: colour("ok"), opacity: 0.07 }, ...mark }),
    line(OPEN, "level", [1.5, 3.5], moments.map((m) => [m.at, m.connections]), { yAxisIndex: 1, lineStyle: { color: colour("level"), width: 1.75, type: [1.5, 3.5] } }),
    line(LOST, "fail", "solid", moments.map((m) => [m.at, m.lost]), { xAxisIndex: 1, yAxisIndex: 2, step: "middle", areaStyle: { color: colour("fail"), opacity: 0.25 } }),
  ];
  if (found.length > 0) {
    grids.push({ left, right, top: third, height: found.length * LANE });
    xs.push(timeAxis(last, width, { gridIndex: 2, ...bare, axisLine: { show: false } }));
    ys.push(laneAxis(found, 2));
    series.push(...found.map((lane, i) => laneSeries(lane, found.length - 1 - i, null, false, { xAxisIndex: 2, yAxisIndex: 3 })));
  }
  const item = { ...text(), color: colour("ink"), fontSize: 13 };
  return {
    animation: false,
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    legend: { top: 0, left: 0, itemWidth: 30, itemHeight: 8, itemGap: 18, icon: "inherit", textStyle: item, data: [HEARD, OPEN, LOST], selectedMode: false },
    tooltip: tooltip((name, value) => hovered(name, value, found)),
    grid: grids,
    xAxis: xs,
    yAxis: ys,
    series,
  };
}

function hovered(name: string, value: unknown[], found: Lane[]): string | null {
  if (name === HEARD || name === LOST) return `${number(Number(value[1]))} ${name}`;
  if (name === OPEN) return `${whole(Number(value[1]))} ${name}`;
  const lane = found.find((l) => l.key === name);
  return lane ? `${lane.name}: ${String(value[3]).slice(0, 90)} (×${whole(Number(value[2]))})` : null;
}

export function times(moments: Moment[], rooms: RoomsRun): Figure {
  const worst = moments.reduce<Moment | null>((a, m) => ((m.p99 ?? 0) > (a?.p99 ?? 0) ? m : a), null);
  const unit = unitFor(worst?.p99 ?? 0);
  return {
    title: "Delivery time, from the planned instant until a member heard it (p99)",
    description: worst?.p99 ? `The 99th percentile of each interval. The largest is ${seconds(worst.p99)}, ${number(worst.at)} seconds into the load.` : "Nothing was heard.",
    height: (width) => 40 + (width < 560 ? 150 : 180) + 34,
    option: (width) => ({
      animation: false,
      tooltip: tooltip((_, value) => (typeof value[1] === "number" ? `p99: ${seconds(value[1] / unit.scale)}` : null)),
      grid: { ...margins(width), top: 40, height: width < 560 ? 150 : 180 },
      xAxis: timeAxis(end(moments, rooms), width),
      yAxis: valueAxis(`p99 (${unit.name})`, number),
      series: [line("p99", "p99", "solid", moments.map((m) => [m.at, m.p99 === null ? null : m.p99 * unit.scale]))],
    }),
    head: ["seconds", "p99"],
    rows: () => moments.map((m) => [number(m.at), m.p99 === null ? "nothing heard" : seconds(m.p99)]),
  };
}
