// Predicted limits as bars on one axis of clients, with where each was seen and the load asked for.
import { h, s } from "../element";
import type { Predicted } from "../model";

export interface Scale {
  high: number;
  /** Place on the axis from 0 to 1; null beyond its end. */
  at: (value: number) => number | null;
  marks: number[];
}

/** Round steps from zero to at least `largest`, about `wanted` of them. */
export function steps(largest: number, wanted: number): number[] {
  const rough = largest / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((x) => x >= rough * 0.999999) ?? power * 10;
  const count = Math.max(1, Math.ceil(largest / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, i) => i * step);
}

/**
 * An axis from zero to about twice the load asked for (or what was seen, if more), so that what matters is told apart;
 * limits far beyond stand at its end. Null when nothing on it would count clients.
 */
export function scale(predictions: Predicted[], asked: number | null): Scale | null {
  const near = predictions.map((p) => p.observed).concat(asked).filter((v): v is number => v !== null && v > 0);
  const ends = predictions.flatMap((p) => (p.clients ? [p.clients.high] : []));
  if (near.length === 0 && ends.length === 0) return null;
  const largest = near.length > 0 ? 2 * Math.max(...near) : 2 * Math.min(...ends);
  const marks = steps(largest, 5);
  const high = marks.at(-1) ?? largest;
  return { high, marks, at: (v) => (v > high ? null : Math.max(0, v / high)) };
}

/** A part of a track, placed by fractions of its width. */
function part(name: string, from: number, to?: number): HTMLElement {
  const element = h("span", { class: name });
  element.style.left = `${(from * 100).toFixed(2)}%`;
  if (to !== undefined) element.style.width = `${(Math.max(0, to - from) * 100).toFixed(2)}%`;
  return element;
}

/** One limit's track: its range, where it was seen, the load asked for; an arrow for what is beyond the axis. */
export function track(p: Predicted, axis: Scale, asked: number | null, label: string): HTMLElement {
  const parts = axis.marks.map((m) => part("rg-grid", axis.at(m) ?? 1));
  const place = (name: string, value: number | null) => {
    const at = value === null ? null : axis.at(value);
    if (at !== null) parts.push(part(name, at));
  };
  place("rg-load", asked);
  if (p.clients) {
    const from = axis.at(p.clients.low);
    if (from === null) parts.push(h("span", { class: "rg-beyond" }, "▸"));
    else parts.push(part(p.within_load ? "rg-bar near" : "rg-bar", from, axis.at(p.clients.high) ?? 1));
  }
  place("rg-seen", p.observed);
  return h("div", { class: "track", role: "img", "aria-label": label }, ...parts);
}

/** The axis' numbers, under the tracks. */
export function ruler(axis: Scale, show: (v: number) => string): HTMLElement {
  const labels = axis.marks.map((m) => {
    const label = part("rg-label", axis.at(m) ?? 1);
    label.textContent = show(m);
    return label;
  });
  return h("div", { class: "ruler", "aria-hidden": "true" }, ...labels);
}

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
