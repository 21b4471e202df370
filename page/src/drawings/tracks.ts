// Limits as bars on one axis of clients, with where each was seen and the load asked for.
import { h, prose, typeset } from "../element";
import { whole } from "../format";
import type { LimitRow, Tracks } from "../types";

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
 * An axis from zero to about twice the load asked for (or what was seen, if more), so that what matters stands apart;
 * limits far beyond stand at its end. Null when nothing on it would count clients.
 */
export function scale(rows: LimitRow[], asked: number | null): Scale | null {
  const near = rows.map((row) => row.at).concat(asked).filter((v): v is number => v !== null && v > 0);
  const ends = rows.flatMap(({ range }) => (range ? [range[1]] : []));
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
export function track(p: LimitRow, axis: Scale, asked: number | null, label: string): HTMLElement {
  const parts = axis.marks.map((m) => part("rg-grid", axis.at(m) ?? 1));
  const place = (name: string, value: number | null) => {
    const at = value === null ? null : axis.at(value);
    if (at !== null) parts.push(part(name, at));
  };
  place("rg-load", asked);
  if (p.range) {
    const from = axis.at(p.range[0]);
    if (from === null) parts.push(h("span", { class: "rg-beyond" }, "▸"));
    else parts.push(part(p.near ? "rg-bar near" : "rg-bar", from, axis.at(p.range[1]) ?? 1));
  }
  place("rg-seen", p.at);
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

/** All of them with what the signs stand for; those that do not matter are folded away. */
export function tracks({ asked, key, rows, more, others }: Tracks): HTMLElement {
  const axis = key && scale(rows, asked);
  const row = (one: LimitRow) =>
    h(
      "li",
      { class: one.lifted ? "limit lifted" : one.met ? "limit met" : "limit" },
      h("div", { class: "limit-name" }, h("span", { class: "subject" }, one.subject), " ", h("code", {}, one.setting)),
      one.predicted !== "" && h("div", { class: "limit-figures" }, h("span", {}, typeset(one.predicted)), h("span", { class: "seen" }, one.met ? "◆ " : "", one.seen)),
      axis && (one.range || one.at !== null) && track(one, axis, asked, [one.setting, one.predicted, one.seen].filter((words) => words !== "").join(", ")),
      ...one.notes.map((text) => h("div", { class: "formula" }, text)),
      one.evidence.length > 0 && h("ul", { class: "evidence" }, ...one.evidence.map((text) => h("li", {}, ...prose(text)))),
    );
  const signs =
    key &&
    h(
      "p",
      { class: "aside key-line" },
      h("span", {}, h("span", { class: "swatch bar" }), key.predicted),
      h("span", {}, h("span", { class: "diamond" }, "◆ "), key.seen),
      key.asked && h("span", {}, h("span", { class: "swatch load" }), key.asked),
      h("span", {}, "▸ ", key.beyond),
    );
  const list = (all: LimitRow[]) => h("ol", { class: "limits" }, ...all.map(row));
  const folded = more && h("details", { class: "others" }, h("summary", {}, more), list(others));
  return h("div", { class: "tracks" }, axis && signs, list(rows), axis && ruler(axis, whole), folded);
}
