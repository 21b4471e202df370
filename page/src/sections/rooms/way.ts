// The way of messages: stations with their counts, and between them what was lost.
import { h, table } from "../../element";
import { whole } from "../../format";
import type { Station } from "../../model";
import type { Told } from "./page";

export function way({ run, said }: Told): HTMLElement {
  return h(
    "div",
    { class: "trial" },
    h("ol", { class: "way", "aria-label": said.way }, ...said.stations.map(station)),
    said.missing.length > 0
      ? table("Points missing from the score", ["points missing from the score", "where they went"], said.missing.map((m) => [whole(m.count), m.place]), [])
      : h("p", { class: "aside" }, "Nothing is missing from the score."),
    run.lost > 0 ? table("Deliveries lost", ["deliveries lost", "where"], said.stations.flatMap((s) => s.lost).map((l) => [whole(l.count), l.place]), []) : null,
  );
}

function station(s: Station): HTMLElement {
  const lost = s.lost.reduce((sum, l) => sum + l.count, 0);
  return h(
    "li",
    { class: lost > 0 ? "station lossy" : "station" },
    lost > 0 && h("span", { class: "drop" }, `−${whole(lost)}`),
    h("strong", {}, whole(s.count)),
    h("span", { class: "unit" }, s.unit),
    h("span", { class: "name" }, s.name),
  );
}
