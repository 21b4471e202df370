// A figure of each of a few cases, coloured by whether it is as it should be.
import type { Figure } from "./figure";
import { whole } from "../format";
import { colour } from "../theme";
import type { Steps } from "../types";
import { line, margins, text, valueAxis } from "./axes";

/** The chart. */
export function steps({ x, y, most, points }: Steps): Figure {
  const upper = (width: number) => (width < 560 ? 180 : 240);
  const at = (i: { dataIndex: number }) => points[i.dataIndex];
  const labels = { show: true, position: "bottom", distance: 10, ...text(), color: colour("ink"), formatter: (i: { dataIndex: number }) => at(i)?.label ?? "" };
  const data = points.map((point) => [point.x, point.y] as unknown as (number | null)[]);
  return {
    height: (width) => 40 + upper(width) + 50,
    option: (width) => ({
      animation: false,
      grid: { ...margins(width), top: 40, height: upper(width) },
      xAxis: {
        type: "category",
        data: points.map((point) => point.x),
        name: x,
        nameLocation: "middle",
        nameGap: 30,
        nameTextStyle: text(),
        axisLine: { lineStyle: { color: colour("axis") } },
        axisTick: { alignWithLabel: true },
        axisLabel: text(),
      },
      yAxis: valueAxis(y, whole, most === null ? {} : { max: most }),
      series: [
        line(y, "ok", "solid", data, {
          showSymbol: true,
          symbolSize: 10,
          itemStyle: { color: (i: { dataIndex: number }) => colour(at(i)?.good ? "good" : "fail") },
          label: labels,
        }),
      ],
    }),
  };
}
