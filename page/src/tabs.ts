// Tabs as the ARIA practices have them: one tab stop, arrow keys, Home and End; a panel is built when first shown.
import { h, unique } from "./element";

export interface Tab {
  label: string;
  /** A short remark after the label, e.g. "broke". */
  remark?: string | null | undefined;
  build: () => Node;
}

/** A tab list with its panels. A single tab needs no list and is shown as it is. */
export function tabs(name: string, all: Tab[]): HTMLElement {
  if (all.length === 1 && all[0]) return h("div", {}, all[0].build());
  const list = h("div", { role: "tablist", "aria-label": name, class: "tabs" });
  const whole = h("div", { class: "tabbed" }, list);
  const pairs = all.map((tab) => {
    const [id, panelId] = [unique("tab"), unique("panel")];
    const button = h(
      "button",
      { role: "tab", id, type: "button", "aria-controls": panelId, "aria-selected": "false", tabindex: -1 },
      tab.label,
      tab.remark && h("span", { class: "remark" }, ` ${tab.remark}`),
    );
    const panel = h("div", { role: "tabpanel", id: panelId, "aria-labelledby": id, tabindex: 0, hidden: true });
    list.append(button);
    whole.append(panel);
    return { button, panel, build: tab.build };
  });
  const show = (index: number, focus: boolean) => {
    pairs.forEach(({ button, panel, build }, i) => {
      const on = i === index;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on ? 0 : -1;
      panel.hidden = !on;
      if (on && !panel.hasChildNodes()) panel.append(build());
      if (on && focus) {
        button.focus();
        button.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    });
  };
  pairs.forEach(({ button }, i) => {
    button.addEventListener("click", () => show(i, false));
    button.addEventListener("keydown", (event) => {
      const last = pairs.length - 1;
      const to = { ArrowRight: i === last ? 0 : i + 1, ArrowLeft: i === 0 ? last : i - 1, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(to, true);
    });
  });
  show(0, false);
  return whole;
}
