// Elements from data. Text is always text: nothing here takes markup, so nothing a server wrote can become any.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined>;

function add(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** An HTML element: `h("p", { class: "lead" }, "text", other)`. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  add(element, attributes, children);
  return element;
}

/** An SVG element. */
export function s(name: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  add(element, attributes, children);
  return element;
}

/** Ranges and negative numbers of plain text, set as print has them: `359–383` in one piece, `−12.2`. */
export function typeset(text: string): string {
  return text
    .replace(/(?<![\w.,-])(\d[\d,.]*)-(\d[\d,.]*)(?![\w-])/g, "$1\u2060–\u2060$2")
    .replace(/(^|[\s(])-(?=\d)/g, "$1−")
    .replace(/(\d) (?=(?:%|[munµ]?s|min)(?:[\s,.;:)]|$))/g, "$1\u00a0");
}

/** A sentence in which what stands between backticks is code. */
export function prose(text: string): (HTMLElement | string)[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", part.length <= 28 ? { class: "short" } : {}, part) : typeset(part)));
}

let made = 0;

/** An identifier that no other element of the page has. */
export function unique(prefix: string): string {
  made += 1;
  return `${prefix}-${made}`;
}
