// Each contender has a colour, a dash and a symbol of its own through the whole page, so that none depends on colour alone.
import { h } from "./element";

export interface Tone {
  colour: string;
  dash: "solid" | number[];
  symbol: string;
}

const colours = ["server-1", "server-2", "server-3", "server-4", "server-5", "server-6"];
const dashes: ("solid" | number[])[] = ["solid", [7, 4], [2, 3], [9, 3, 2, 3]];
const symbols = ["circle", "rect", "triangle", "diamond"];
const glyphs = new Map([["circle", "●"], ["rect", "■"], ["triangle", "▲"], ["diamond", "◆"]]);

/** The tone of the contender at this place of the legend. */
export function toneOf(i: number): Tone {
  const colour = colours[i % colours.length] ?? "ink";
  const dash = dashes[(i + Math.floor(i / colours.length)) % dashes.length] ?? "solid";
  return { colour, dash, symbol: symbols[i % symbols.length] ?? "circle" };
}

/** What each tone stands for, once for all charts. */
export function legend(names: string[]): HTMLElement {
  const keys = names.map((name, i) => {
    const { colour, symbol } = toneOf(i);
    const glyph = h("span", { "aria-hidden": "true" }, glyphs.get(symbol) ?? "●");
    glyph.style.color = `var(--${colour})`;
    return h("li", {}, glyph, ` ${name}`);
  });
  return h("ul", { class: "key-line" }, ...keys);
}
