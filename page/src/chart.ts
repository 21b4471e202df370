// A chart on the page: drawn as SVG by ECharts, described in words, with its numbers one button away.
import { LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Figure } from "./charts/figure";
import { lines } from "./charts/lines";
import { steps } from "./charts/steps";
import { trend } from "./charts/trend";
import { h, unique } from "./element";
import { table } from "./table";
import { onTheme } from "./theme";
import type { Chart, Plot } from "./types";

echarts.use([LineChart, ScatterChart, AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, SVGRenderer]);

function figure(plot: Plot): Figure {
  if (plot.plot === "trend") return trend(plot);
  return plot.plot === "steps" ? steps(plot) : lines(plot);
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
export function chart({ title, description, numbers, plot }: Chart): HTMLElement {
  const [titleId, numbersId] = [unique("chart"), unique("numbers")];
  const place = h("div", { class: "chart", role: "img", "aria-label": `${title}. ${description}` });
  const shown = h("div", { id: numbersId, hidden: true });
  const button = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": numbersId }, "Show numbers");
  button.addEventListener("click", () => {
    shown.hidden = !shown.hidden;
    button.setAttribute("aria-expanded", String(!shown.hidden));
    button.textContent = shown.hidden ? "Show numbers" : "Hide numbers";
    if (!shown.hidden && !shown.hasChildNodes()) shown.append(table(numbers));
  });
  draw(place, figure(plot));
  return h("figure", { "aria-labelledby": titleId }, h("div", { class: "figure-head" }, h("figcaption", { id: titleId }, title), button), place, shown);
}
