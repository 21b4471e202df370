// Gauges and counters over time.
import { h, s } from "../element";
import type { Spark } from "../types";

/** A small line of a gauge over time. */
export function spark(points: [number, number][], last: number, broke: number | null, label: string): SVGElement {
  const [w, height] = [240, 40];
  const values = points.map((p) => p[1]);
  const [low, high] = [Math.min(0, ...values), Math.max(...values)];
  const x = (t: number) => (Math.max(0, t) / last) * w;
  const y = (v: number) => height - 2 - ((v - low) / (high - low || 1)) * (height - 4);
  const d = points.map(([t, v], i) => `${i === 0 ? "M" : "L"}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  return s(
    "svg",
    { viewBox: `0 0 ${w} ${height}`, preserveAspectRatio: "none", class: "spark", role: "img", "aria-label": label },
    broke !== null && s("line", { x1: x(broke), x2: x(broke), y1: 0, y2: height, class: "spark-break" }),
    s("path", { d, class: "spark-line" }),
  );
}

/** All of them, folded away. */
export function sparks(summary: string, last: number, broke: number | null, all: Spark[]): HTMLElement {
  const item = ({ metric, subject, name, words, points }: Spark) =>
    h("li", {}, h("span", { class: "gauge-name", title: metric }, h("span", { class: "subject" }, `${subject} `), name), spark(points, last, broke, `${name}: ${words}`), h("span", { class: "gauge-words" }, words));
  return h("details", { class: "gauges" }, h("summary", {}, summary), h("ul", {}, ...all.map(item)));
}
