// What one contender does to each figure beside another: a dot with its interval on an axis of factors, the margin that does not matter
// as a band around "no effect".
import { s } from "../element";
import type { Factor } from "../types";

const WIDTH = 560;
const LEFT = 132;
const ROW = 30;
const FOOT = 24;

/** Half of the axis, as a factor: far enough for every interval, between 1.1 and 10. */
export function span(rows: Factor[], margin: number): number {
  const ends = rows.flatMap(({ ratio }) => [ratio.interval.low, ratio.interval.high, ratio.value]);
  const far = ends.filter((v) => v > 0 && Number.isFinite(v)).map((v) => Math.max(v, 1 / v));
  return Math.min(10, Math.max(1.1, 1 + 2 * margin, ...far) * 1.04);
}

/** The drawing: a row a figure. */
export function effects(rows: Factor[], margin: number, label: string): SVGElement {
  const factor = span(rows, margin);
  const x = (v: number) => {
    const part = Math.log(Math.min(factor, Math.max(1 / factor, v))) / Math.log(factor);
    return LEFT + ((part + 1) / 2) * (WIDTH - LEFT - 12);
  };
  const height = rows.length * ROW;
  const text = (v: number) => `×${v.toFixed(2)}`;
  const marks = [1 / factor, 1, factor].map((v, i) =>
    s("text", { x: x(v), y: height + 16, class: "fx-label", "text-anchor": ["start", "middle", "end"][i] ?? "middle" }, text(v)),
  );
  const all = rows.map(({ name, ratio: effect, call }, row) => {
    const y = row * ROW + ROW / 2;
    const [low, high] = [x(effect.interval.low), x(effect.interval.high)];
    return s(
      "g",
      { class: `fx ${call}` },
      s("text", { x: LEFT - 10, y: y + 4, class: "fx-name", "text-anchor": "end" }, name),
      s("line", { x1: low, x2: high, y1: y, y2: y, class: "fx-whisker" }),
      s("line", { x1: low, x2: low, y1: y - 5, y2: y + 5, class: "fx-whisker" }),
      s("line", { x1: high, x2: high, y1: y - 5, y2: y + 5, class: "fx-whisker" }),
      s("circle", { cx: x(effect.value), cy: y, r: 5.5, class: "fx-dot" }),
    );
  });
  const [from, to] = [x(1 / (1 + margin)), x(1 + margin)];
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height + FOOT}`, class: "effects", role: "img", "aria-label": label },
    s("rect", { x: from, y: 0, width: to - from, height, class: "fx-margin" }),
    s("line", { x1: x(1), x2: x(1), y1: 0, y2: height, class: "fx-none" }),
    ...all,
    ...marks,
  );
}
