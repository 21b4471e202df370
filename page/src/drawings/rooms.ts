// Rooms as cells: the fuller, the calmer.
import { h } from "../element";
import type { Room } from "../types";

/** The cells, and what their shades stand for. */
export function rooms(label: string, all: Room[], legend: [number, string][]): HTMLElement {
  const cell = ({ step, title }: Room, room: number) => h("li", { class: `cell s${step}`, title }, h("span", {}, String(room)));
  const key = ([step, words]: [number, string]) => h("span", {}, h("span", { class: `swatch cell s${step}` }), words);
  return h("div", { class: "trial" }, h("ol", { class: "heat", "aria-label": label }, ...all.map(cell)), h("p", { class: "key-line aside" }, ...legend.map(key)));
}
