// The report page: reads the data that stand inside the page and draws them.
import "./style.css";
import type { CacheData } from "./cache/model";
import { cachePage } from "./cache/page";
import { h } from "./element";
import { date } from "./format";
import type { ComparisonData } from "./compare/model";
import { compared } from "./compare/sections";
import type { ContestData } from "./contest/model";
import { comparison } from "./contest/sections";
import type { PageData } from "./model";
import { Run } from "./run";
import { causes } from "./sections/causes";
import { change } from "./sections/change";
import { environment } from "./sections/environment";
import { held } from "./sections/held";
import { limits } from "./sections/limits";
import { proof } from "./sections/proof";
import { rooms } from "./sections/rooms/page";
import type { Sections } from "./sections/section";
import { time } from "./sections/time";
import { trials } from "./sections/trials";
import { verdict } from "./sections/verdict";
import type { SuiteData } from "./suite/model";
import { suitePage } from "./suite/page";
import { toggle } from "./theme";

type Data = PageData | ContestData | ComparisonData | CacheData | SuiteData;

const SCHEMA = "genkai.page/1";

/** Draws the whole page into `root`; what was there before goes. */
export function render(root: Element, data: Data): void {
  const headed = "contest" in data || "comparison" in data || "cache" in data || "suite" in data;
  const run = headed ? Run.headed(data.head, data.notes) : Run.of(data);
  const { hero, answer, sections } = drawn(data, run);
  const links = sections.map((s) => h("li", {}, h("a", { href: `#${s.id}` }, s.querySelector("h2")?.textContent ?? s.id)));
  const title = run.head?.plan.title ?? "genkai report";
  document.title = `${answer} · ${title}`;
  root.replaceChildren(
    h(
      "header",
      { class: "top" },
      h("p", { class: "mark" }, "genkai"),
      h("p", { class: "what" }, title, run.head && h("time", { datetime: run.head.started }, date(run.head.started))),
      toggle(),
    ),
    h("main", {}, hero, h("nav", { "aria-label": "Sections" }, h("ul", {}, ...links)), ...sections),
    h("footer", {}, `Made by genkai ${run.head?.version ?? ""}. Everything on this page is inside this file; `, h("code", {}, "run.jsonl"), ` ${"suite" in data ? "in the folder of each part" : "beside it"} is the whole record.`),
  );
}

function drawn(data: Data, run: Run): Sections {
  if ("suite" in data) return suitePage(data, run);
  if ("cache" in data) return cachePage(data, run);
  if ("contest" in data) return comparison(data, run);
  if ("comparison" in data) return compared(data, run);
  if (data.held) return held(data.held, run);
  return data.rooms ? rooms(data, data.rooms, run) : tuned(data, run);
}

/** The sections of a run that tunes or measures. */
function tuned(data: PageData, run: Run): Sections {
  const all = [time(data, run), proof(data), limits(data, run), causes(data), change(run), trials(data, run), environment(run)];
  return { hero: verdict(data, run), answer: data.said[0]?.text ?? "Report", sections: all.filter((s) => s !== null) };
}

function start(): void {
  const root = document.getElementById("page");
  const text = document.getElementById("genkai-data")?.textContent ?? "";
  if (!root) return;
  try {
    const data = JSON.parse(text) as Data;
    if (data.schema !== SCHEMA) throw new Error(`the data inside are not ${SCHEMA}`);
    render(root, data);
  } catch (error) {
    root.replaceChildren(h("p", { class: "noscript" }, `This report cannot be shown: ${String(error)}`));
    throw error;
  }
}

start();
