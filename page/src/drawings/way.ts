// The way of messages: stations with their counts, and between them what was lost.
import { h } from "../element";
import type { Station } from "../types";

/** The stations in a row. */
export function way(label: string, stations: Station[]): HTMLElement {
  return h("ol", { class: "way", "aria-label": label }, ...stations.map(station));
}

function station({ name, count, unit, lost }: Station): HTMLElement {
  return h(
    "li",
    { class: lost ? "station lossy" : "station" },
    lost && h("span", { class: "drop" }, lost),
    h("strong", {}, count),
    h("span", { class: "unit" }, unit),
    h("span", { class: "name" }, name),
  );
}
