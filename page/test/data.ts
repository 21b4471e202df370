import type { PageData } from "../src/types";
import heldText from "./held.json?raw";
import roomsText from "./rooms.json?raw";
import text from "./sample.json?raw";

/** The page's data of a made-up run of experiment 1, fresh each time; a test of crates/report keeps it up to date. */
export function sample(): PageData {
  return JSON.parse(text) as PageData;
}

/** The same of a made-up sweep of chat rooms. */
export function roomsSample(): PageData {
  return JSON.parse(roomsText) as PageData;
}

/** The same of a made-up search for the largest number of requests held open. */
export function heldSample(): PageData {
  return JSON.parse(heldText) as PageData;
}
