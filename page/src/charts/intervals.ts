// Before and after with their 95 % intervals, as small drawings of their own: a dot, its whiskers, its figure.
import { s } from "../element";
import type { Estimate } from "../model";

export interface Row {
  name: string;
  estimate: Estimate;
  /** Hollow for before, filled for after: told apart without colour. */
  filled: boolean;
}

const WIDTH = 320;
const ROW = 34;

/** The largest value drawn: at least a little, so that all-zero intervals have a scale. */
export function reach(rows: Row[]): number {
  const largest = Math.max(...rows.map((r) => Math.max(r.estimate.interval.high, r.estimate.value)));
  return Number.isFinite(largest) && largest > 0 ? largest * 1.08 : 1;
}

/** The drawing; starts at zero, so that lengths can be compared. */
export function intervals(rows: Row[], label: string): SVGElement {
  const largest = reach(rows);
  const x = (v: number) => 8 + (Math.max(0, Math.min(v, largest)) / largest) * (WIDTH - 24);
  const height = rows.length * ROW;
  const axis = s("line", { x1: 8, x2: 8, y1: 0, y2: height, class: "iv-axis" });
  const drawn = rows.map(({ estimate, filled }, i) => {
    const y = i * ROW + ROW / 2;
    const [low, high, value] = [x(estimate.interval.low), x(estimate.interval.high), x(estimate.value)];
    return s(
      "g",
      { class: filled ? "iv after" : "iv before" },
      s("line", { x1: 8, x2: value, y1: y, y2: y, class: "iv-bar" }),
      s("line", { x1: low, x2: high, y1: y, y2: y, class: "iv-whisker" }),
      s("line", { x1: low, x2: low, y1: y - 5, y2: y + 5, class: "iv-whisker" }),
      s("line", { x1: high, x2: high, y1: y - 5, y2: y + 5, class: "iv-whisker" }),
      s("circle", { cx: value, cy: y, r: 5.5, class: "iv-dot" }),
    );
  });
  return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "intervals", role: "img", "aria-label": label }, axis, ...drawn);
}
