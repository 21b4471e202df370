// Tables: each scrolls by itself when it is wider than the page; a long one scrolls down within itself too.
import { h, prose, typeset } from "./element";
import type { Cell, Column, Table } from "./types";

/** The table as an element. */
export function table({ caption, columns, rows, long = false, matrix = false }: Table): HTMLElement {
  const side = (i: number) => (columns[i]?.kind === "figure" ? { class: "figure" } : {});
  const shown = h(
    "div",
    { class: long ? "scroll long" : "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, ...columns.map(({ name }, i) => h("th", { scope: "col", ...side(i) }, name)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, i) => (i === 0 ? h("th", { scope: "row", ...side(i) }, ...content(cell, columns[i])) : h("td", side(i), ...content(cell, columns[i]))))))),
    ),
  );
  return matrix ? h("div", { class: "matrix" }, shown) : shown;
}

function content(cell: Cell, column: Column | undefined): (HTMLElement | string)[] {
  if (typeof cell !== "string") return [styled(cell)];
  if (column?.kind === "prose") return prose(cell);
  return [column?.kind === "figure" ? typeset(cell) : cell];
}

function styled({ text, style, href }: Exclude<Cell, string>): HTMLElement {
  if (href) return h("a", { href: encodeURI(href) }, text);
  if (style === "code") return h("code", {}, text);
  return style === "strong" ? h("strong", {}, typeset(text)) : h("span", { class: `confidence ${style}` }, text);
}
