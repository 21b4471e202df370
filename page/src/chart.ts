// A chart on the page: drawn as SVG by ECharts, described in words, with its numbers one button away.
import { LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import type { EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { h, table, unique } from "./element";
import { onTheme } from "./theme";

echarts.use([LineChart, ScatterChart, AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, SVGRenderer]);

export type Option = EChartsCoreOption;

export interface Figure {
  title: string;
  /** What the chart shows, for those who cannot see it. */
  description: string;
  /** Height in pixels, by the width there is. */
  height: (width: number) => number;
  /** Built anew whenever width or colours change. */
  option: (width: number) => Option;
  head: string[];
  rows: () => string[][];
}

/** Charts in the same group move their pointers together. */
const group = "time";

function draw(place: HTMLElement, figure: Figure): void {
  let chart: echarts.ECharts | null = null;
  let width = 0;
  const render = () => {
    width = place.clientWidth;
    if (width === 0) return;
    place.style.height = `${figure.height(width)}px`;
    if (!chart) {
      chart = echarts.init(place, null, { renderer: "svg" });
      chart.group = group;
      echarts.connect(group);
    }
    chart.resize();
    chart.setOption(figure.option(width), { notMerge: true });
  };
  const observer = new ResizeObserver(() => {
    // In the next frame: changing the height here would have the observer called again at once.
    if (place.clientWidth !== width) requestAnimationFrame(render);
  });
  observer.observe(place);
  onTheme(render);
}

/** The chart with its title, its description and a button that shows its numbers as a table. */
export function chart(figure: Figure): HTMLElement {
  const [titleId, numbersId] = [unique("chart"), unique("numbers")];
  const place = h("div", { class: "chart", role: "img", "aria-label": `${figure.title}. ${figure.description}` });
  const numbers = h("div", { id: numbersId, hidden: true });
  const button = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": numbersId }, "Show numbers");
  button.addEventListener("click", () => {
    numbers.hidden = !numbers.hidden;
    button.setAttribute("aria-expanded", String(!numbers.hidden));
    button.textContent = numbers.hidden ? "Show numbers" : "Hide numbers";
    if (!numbers.hidden && !numbers.hasChildNodes()) {
      const right = figure.head.map((_, i) => i);
      numbers.append(table(figure.title, figure.head, figure.rows(), right, true));
    }
  });
  draw(place, figure);
  return h(
    "figure",
    { "aria-labelledby": titleId },
    h("div", { class: "figure-head" }, h("figcaption", { id: titleId }, figure.title), button),
    place,
    numbers,
  );
}
