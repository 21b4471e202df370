// Every kind of drawing without axes.
import { h } from "../element";
import type { Drawing } from "../types";
import { effects } from "./effects";
import { intervals } from "./intervals";
import { rooms } from "./rooms";
import { sparks } from "./sparks";
import { tracks } from "./tracks";
import { way } from "./way";

/** The drawing as an element. */
export function drawing(one: Drawing): HTMLElement {
  switch (one.drawing) {
    case "intervals":
      return intervals(one.entries);
    case "effects":
      return h("div", {}, effects(one.rows, one.margin, one.label));
    case "tracks":
      return tracks(one);
    case "sparks":
      return sparks(one.summary, one.last, one.broke, one.sparks);
    case "rooms":
      return rooms(one.label, one.rooms, one.legend);
    case "way":
      return way(one.label, one.stations);
  }
}
