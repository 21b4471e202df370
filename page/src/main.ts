// The report page: reads the document that stands inside the page and lays it out.
import "./style.css";
import { answer, section } from "./blocks";
import { h } from "./element";
import { toggle } from "./theme";
import type { PageData } from "./types";

const SCHEMA = "genkai.page/2";

/** Lays the whole page out in `root`; what was there before goes. */
export function render(root: Element, { title, started, footer, document: report }: PageData): void {
  const links = report.sections.map(({ id, title }) => h("li", {}, h("a", { href: `#${id}` }, title)));
  document.title = `${report.headline} · ${title}`;
  root.replaceChildren(
    h(
      "header",
      { class: "top" },
      h("p", { class: "mark" }, "genkai"),
      h("p", { class: "what" }, title, started && h("time", { datetime: started[0] }, started[1])),
      toggle(),
    ),
    h("main", {}, answer(report), h("nav", { "aria-label": "Sections" }, h("ul", {}, ...links)), ...report.sections.map(section)),
    h("footer", {}, footer.before, h("code", {}, footer.file), footer.after),
  );
}

function start(): void {
  const root = document.getElementById("page");
  const text = document.getElementById("genkai-data")?.textContent ?? "";
  if (!root) return;
  try {
    const data = JSON.parse(text) as PageData;
    if (data.schema !== SCHEMA) throw new Error(`the data inside are not ${SCHEMA}`);
    render(root, data);
  } catch (error) {
    root.replaceChildren(h("p", { class: "noscript" }, `This report cannot be shown: ${String(error)}`));
    throw error;
  }
}

start();
