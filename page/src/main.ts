// The report page: reads the data that stand inside the page and draws them.
import "./style.css";
import { h } from "./element";
import { date } from "./format";
import type { ContestData } from "./contest/model";
import { answer, cases, caveats, limits as limitsOf, overRounds, servers } from "./contest/sections";
import type { Head, PageData } from "./model";
import { Run } from "./run";
import { causes } from "./sections/causes";
import { change } from "./sections/change";
import { environment } from "./sections/environment";
import { limits } from "./sections/limits";
import { proof } from "./sections/proof";
import { time } from "./sections/time";
import { trials } from "./sections/trials";
import { verdict } from "./sections/verdict";
import { toggle } from "./theme";

const SCHEMA = "genkai.page/1";

/** Draws the whole page into `root`; what was there before goes. */
export function render(root: Element, data: PageData | ContestData): void {
  if ("contest" in data) {
    const run = new Run();
    [run.head, run.notes] = [data.head, data.notes];
    const sections = [cases(data), overRounds(data), limitsOf(data), caveats(data), servers(data), environment(run)];
    return frame(root, run.head, data.words.headline, answer(data), sections);
  }
  const run = Run.of(data);
  const sections = [
    time(data, run),
    proof(data),
    limits(data, run),
    causes(data),
    change(run),
    trials(data, run),
    environment(run),
  ];
  frame(root, run.head, data.said[0]?.text, verdict(data, run), sections);
}

/** What every page has around its sections. */
function frame(root: Element, head: Head | null, said: string | undefined, top: HTMLElement, all: (HTMLElement | null)[]): void {
  const sections = all.filter((s) => s !== null);
  const links = sections.map((s) => h("li", {}, h("a", { href: `#${s.id}` }, s.querySelector("h2")?.textContent ?? s.id)));
  const title = head?.plan.title ?? "genkai report";
  document.title = `${said ?? "Report"} · ${title}`;
  root.replaceChildren(
    h(
      "header",
      { class: "top" },
      h("p", { class: "mark" }, "genkai"),
      h("p", { class: "what" }, title, head && h("time", { datetime: head.started }, date(head.started))),
      toggle(),
    ),
    h("main", {}, top, h("nav", { "aria-label": "Sections" }, h("ul", {}, ...links)), ...sections),
    h("footer", {}, `Made by genkai ${head?.version ?? ""}. Everything on this page is inside this file; `, h("code", {}, "run.jsonl"), " beside it is the whole record."),
  );
}

function start(): void {
  const root = document.getElementById("page");
  const text = document.getElementById("genkai-data")?.textContent ?? "";
  if (!root) return;
  try {
    const data = JSON.parse(text) as PageData | ContestData;
    if (data.schema !== SCHEMA) throw new Error(`the data inside are not ${SCHEMA}`);
    render(root, data);
  } catch (error) {
    root.replaceChildren(h("p", { class: "noscript" }, `This report cannot be shown: ${String(error)}`));
    throw error;
  }
}

start();
