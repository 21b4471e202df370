// A section: its title in the margin, its content beside it.
import { h } from "../element";

export function section(id: string, title: string, lead: string | null, ...content: (Node | null)[]): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("header", {}, h("h2", { id: `${id}-title` }, title), lead && h("p", { class: "aside" }, lead)),
    h("div", { class: "body" }, ...content),
  );
}
