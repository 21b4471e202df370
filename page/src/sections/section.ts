// A section: its title in the margin, its content beside it.
import { h } from "../element";

/** What a page is made of. */
export interface Sections {
  hero: HTMLElement;
  /** The answer, for the window's title. */
  answer: string;
  sections: HTMLElement[];
}

export function section(id: string, title: string, lead: string | null, ...content: (Node | null)[]): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("header", {}, h("h2", { id: `${id}-title` }, title), lead && h("p", { class: "aside" }, lead)),
    h("div", { class: "body" }, ...content),
  );
}
