// Several numbers of nodes: what each scored, and the smallest with a full score.
import { chart, type Figure } from "../../chart";
import { line, margins, text, valueAxis } from "../../charts/time";
import { h, table } from "../../element";
import { number, percent, seconds, whole } from "../../format";
import type { RoomsRun } from "../../model";
import { colour } from "../../theme";
import { section } from "../section";
import { full, share } from "./page";

export function sweep(all: RoomsRun[]): HTMLElement | null {
  if (all.length < 2) return null;
  const runs = [...all].sort((a, b) => a.nodes - b.nodes);
  const rows = runs.map((run) => [
    whole(run.nodes),
    whole(run.score),
    h("span", { class: full(run) ? "confidence proved" : "confidence refuted" }, full(run) ? "✓ full" : percent(share(run))),
    whole(run.never_entered),
    whole(run.cuts.length),
    whole(run.lost),
    seconds(run.latency.p99),
  ]);
  return section(
    "sweep",
    "Nodes and score",
    "The same rooms on different numbers of nodes.",
    chart(figure(runs)),
    table("Nodes and score", ["nodes", "score", "of full marks", "never entered", "cut off", "lost deliveries", "p99 delivery"], rows, [1, 3, 4, 5, 6]),
  );
}

export function figure(runs: RoomsRun[]): Figure {
  const data = runs.map((run) => [String(run.nodes), run.score] as [string, number]);
  const planned = runs[0]?.planned ?? 0;
  return {
    title: "Score by number of nodes",
    description: `${runs.map((run) => `${whole(run.nodes)} nodes: ${whole(run.score)}`).join("; ")}, of ${whole(planned)}.`,
    height: (width) => 40 + (width < 560 ? 180 : 240) + 50,
    option: (width) => ({
      animation: false,
      grid: { ...margins(width), top: 40, height: width < 560 ? 180 : 240 },
      xAxis: {
        type: "category",
        data: data.map((d) => d[0]),
        name: "nodes",
        nameLocation: "middle",
        nameGap: 30,
        nameTextStyle: text(),
        axisLine: { lineStyle: { color: colour("axis") } },
        axisTick: { alignWithLabel: true },
        axisLabel: text(),
      },
      yAxis: valueAxis("score", number, { max: planned }),
      series: [
        line("score", "ok", "solid", data.map((d) => [d[0], d[1]] as unknown as (number | null)[]), {
          showSymbol: true,
          symbolSize: 10,
          itemStyle: { color: (at: { dataIndex: number }) => colour(runs[at.dataIndex] && full(runs[at.dataIndex] as RoomsRun) ? "good" : "fail") },
          label: { show: true, position: "bottom", distance: 10, ...text(), color: colour("ink"), formatter: (at: { dataIndex: number }) => percent(share(runs[at.dataIndex] as RoomsRun)) },
        }),
      ],
    }),
    head: ["nodes", "score"],
    rows: () => runs.map((run) => [whole(run.nodes), whole(run.score)]),
  };
}
