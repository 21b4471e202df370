import type { PageData } from "../src/model";
import text from "./sample.json?raw";

/** The page's data of a made-up run of experiment 1, fresh each time; a test of crates/report keeps it up to date. */
export function sample(): PageData {
  return JSON.parse(text) as PageData;
}
