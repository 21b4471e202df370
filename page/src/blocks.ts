// Every kind of block as elements.
import { chart } from "./chart";
import { drawing } from "./drawings/drawing";
import { h, prose, typeset } from "./element";
import { table } from "./table";
import { tabs } from "./tabs";
import { legend } from "./tones";
import type { Block, Document, Line, Outcome, Section, Style } from "./types";

const symbols: Record<Outcome, string> = { holds: "✓", fails: "✕", invalid: "!", unfinished: "…" };

/** The head of the page: how it turned out, the sentence to quote, and what belongs to it. */
export function answer({ outcome, turned, headline, answer: rest }: Document): HTMLElement {
  const words = turned.charAt(0).toUpperCase() + turned.slice(1);
  return h(
    "section",
    { id: "verdict", class: `hero ${outcome}`, tabindex: -1, "aria-label": "Answer" },
    h("p", { class: "outcome" }, h("span", { class: "symbol", "aria-hidden": "true" }, symbols[outcome]), words),
    title(headline, rest.some(({ block }) => block === "tiles")),
    ...grouped(rest),
  );
}

/** A long answer, or one without figures beneath, is set smaller, so that what follows stays in sight. */
function title(text: string, figures: boolean): HTMLElement {
  const colon = text.indexOf(":");
  const size = text.length > 90 || !figures ? { class: "long" } : {};
  if (colon < 0 || colon > 24) return h("h1", size, ...prose(text));
  return h("h1", size, h("em", {}, text.slice(0, colon + 1)), ...prose(text.slice(colon + 1)));
}

/** Blocks, the paragraphs of the lead together. */
function grouped(all: Block[]): HTMLElement[] {
  const is = (one: Block) => one.block === "text" && one.style === "lead";
  const lead = all.filter(is).map(block);
  return [...(lead.length > 0 ? [h("div", { class: "lead" }, ...lead)] : []), ...all.filter((one) => !is(one)).map(block)];
}

/** A section: its title in the margin, its content beside it. */
export function section({ id, title, lead, blocks }: Section): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("header", {}, h("h2", { id: `${id}-title` }, title), lead && h("p", { class: "aside" }, lead)),
    h("div", { class: "body" }, ...blocks.map(block)),
  );
}

/** A block as an element. */
export function block(one: Block): HTMLElement {
  switch (one.block) {
    case "text":
      return h("p", look(one.style), ...prose(one.text));
    case "link":
      return h("p", { class: "aside" }, h("a", { href: encodeURI(one.href) }, one.text));
    case "notes":
      return h("ul", { class: one.style === "evidence" ? "evidence" : "notes" }, ...one.items.map((item) => h("li", {}, ...prose(item))));
    case "heading":
      return h(one.level === 3 ? "h3" : "h4", {}, ...prose(one.text));
    case "table":
      return table(one);
    case "facts":
      return h("dl", { class: "facts-list" }, ...one.facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    case "cards":
      return h("div", { class: one.wide ? "cards servers" : "cards" }, ...one.cards.map((card) => h("div", { class: "card" }, h("h3", {}, card.title), ...card.blocks.map(block))));
    case "drawing":
      return drawing(one);
    case "chart":
      return chart(one);
    case "legend":
      return legend(one.names);
    case "details":
      return h("details", {}, h("summary", {}, one.summary), ...one.blocks.map(block));
    case "multiples":
      return h("div", { class: "multiples" }, ...one.blocks.map(block));
    case "tabs":
      return tabs(one.name, one.tabs.map(({ label, remark, blocks }) => ({ label, remark, build: () => h("div", { class: "trial" }, ...blocks.map(block)) })));
    case "article":
      return h("article", { class: "cause" }, ...one.blocks.map(block));
    case "tiles":
      return h("dl", { class: "tiles" }, ...one.tiles.map(({ name, value, note }) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, typeset(value)), h("span", {}, typeset(note))))));
    case "columns":
      return h("div", { class: "columns" }, ...one.columns.map(([title, said]) => h("div", {}, h("h2", {}, title), ...said.map((text) => h("p", {}, ...prose(text))))));
    case "code":
      return h("pre", { class: "code", tabindex: 0, "aria-label": one.label }, ...one.lines.map(line));
  }
}

const sure: Style[] = ["proved", "likely", "possible", "refuted"];

function look(style: Style): { class?: string } {
  if (style === "plain" || style === "lead") return {};
  return { class: sure.includes(style) ? `confidence ${style}` : style };
}

function line({ mark, text }: Line): HTMLElement | string {
  return mark === "none" ? text : h("span", { class: `diff ${mark}` }, `${text}\n`);
}
