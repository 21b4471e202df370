// Figures with their 95 % intervals, one under the other: who it is of, a bar with a dot and whiskers, the figure in numbers.
import { h, s, typeset } from "../element";
import type { Entry, Interval } from "../types";

const WIDTH = 240;
const HEIGHT = 14;
const MIDDLE = HEIGHT / 2;

/** The largest value drawn: at least a little, so that all-zero intervals have a scale. */
export function reach(marks: Interval[]): number {
  const estimates = marks.flatMap(({ estimate }) => (estimate ? [estimate] : []));
  const largest = Math.max(...estimates.map((e) => Math.max(e.interval.high, e.value)));
  return Number.isFinite(largest) && largest > 0 ? largest * 1.04 : 1;
}

/** All entries on one scale that starts at zero, so that lengths can be compared. */
export function intervals(entries: Entry[]): HTMLElement {
  const largest = reach(entries.flatMap((entry) => entry.marks));
  const items = entries.map(({ name, marks }) =>
    h("li", {}, h("span", { class: "key" }, name), ...marks.map((mark) => h("span", { class: "measure" }, bar(mark, largest), h("strong", {}, typeset(mark.value))))),
  );
  return h("ul", { class: "intervals" }, ...items);
}

/** The drawing of one figure; its number is said beside it. */
function bar({ estimate, filled }: Interval, largest: number): SVGElement {
  const x = (v: number) => 6 + (Math.max(0, Math.min(v, largest)) / largest) * (WIDTH - 12);
  const drawn = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: filled ? "iv after" : "iv before", "aria-hidden": "true" });
  drawn.append(s("line", { x1: 6, x2: 6, y1: 0, y2: HEIGHT, class: "iv-axis" }));
  if (estimate === null) return drawn;
  const [low, high, value] = [x(estimate.interval.low), x(estimate.interval.high), x(estimate.value)];
  drawn.append(
    s("line", { x1: 6, x2: value, y1: MIDDLE, y2: MIDDLE, class: "iv-bar" }),
    s("line", { x1: low, x2: high, y1: MIDDLE, y2: MIDDLE, class: "iv-whisker" }),
    s("line", { x1: low, x2: low, y1: MIDDLE - 4, y2: MIDDLE + 4, class: "iv-whisker" }),
    s("line", { x1: high, x2: high, y1: MIDDLE - 4, y2: MIDDLE + 4, class: "iv-whisker" }),
    s("circle", { cx: value, cy: MIDDLE, r: 4.5, class: "iv-dot" }),
  );
  return drawn;
}
