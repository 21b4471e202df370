import { beforeEach, describe, expect, it, vi } from "vitest";
import { prose, typeset } from "../src/element";
import { tabs } from "../src/tabs";
import type { Block, PageData } from "../src/types";
import { heldSample, roomsSample, sample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

const HOSTILE = '<img src=x onerror="alert(1)">';

/** Everything that a document says, replaced where it is text of a server. */
function hostile(data: PageData): PageData {
  return JSON.parse(JSON.stringify(data, (key, value: unknown) => (key === "text" || key === "name" || key === "title" || key === "setting" ? HOSTILE : value))) as PageData;
}

/** A document of one section with these blocks. */
function of(...blocks: Block[]): PageData {
  const data = sample();
  data.document.sections = [{ id: "one", title: "One", blocks }];
  return data;
}

describe("the page", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the answer on top, then every section with a link to it", async () => {
    const body = await drawn(sample());
    expect(body.querySelector("h1")?.textContent).toBe("Yes: change worker_connections from 512 to 768.");
    const ids = [...body.querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "time", "proof", "limits", "evidence", "trials", "change", "caveats", "environment"]);
    const links = [...body.querySelectorAll("nav a")].map((a) => a.getAttribute("href"));
    expect(links).toEqual(ids.slice(1).map((id) => `#${id}`));
    expect(document.title).toContain("change worker_connections");
    const tiles = [...body.querySelectorAll(".tiles strong")].map((tile) => tile.textContent);
    expect(tiles[0]).toBe("243 users");
    expect(tiles[3]).toBe(typeset("359-383 clients"));
  });

  it("is the same for chat rooms and requests held open", async () => {
    const rooms = await drawn(roomsSample());
    expect([...rooms.querySelectorAll("main > section")].map((s) => s.id)).toEqual(["verdict", "sweep", "rooms", "way", "time", "caveats", "environment"]);
    expect(rooms.querySelectorAll(".heat .cell")).toHaveLength(20);
    expect([...rooms.querySelectorAll(".station.lossy")].map((s) => s.textContent).join()).toContain("−290");
    const held = await drawn(heldSample());
    expect([...held.querySelectorAll("main > section")].map((s) => s.id)).toEqual(["verdict", "search", "limits", "environment"]);
    expect(held.querySelectorAll("#search > .body > .scroll tbody tr")).toHaveLength(3);
    expect(held.querySelector("#limits")?.textContent).toContain("server.maxconn");
  });

  it.each([sample, roomsSample, heldSample])("keeps server text as text", async (data) => {
    const body = await drawn(hostile(data()));
    expect(body.querySelector("img")).toBeNull();
    expect(body.textContent).toContain(HOSTILE);
  });

  it("says so when the data are not its own", async () => {
    await expect(drawn({ ...sample(), schema: "other" })).rejects.toThrow("genkai.page/2");
    expect(document.body.textContent).toContain("cannot be shown");
  });

  it("gives every chart a text and its numbers", async () => {
    const body = await drawn(sample());
    const figures = [...body.querySelectorAll("figure")];
    expect(figures.length).toBe(2);
    for (const figure of figures) {
      expect(figure.querySelector("[role=img]")?.getAttribute("aria-label")?.length).toBeGreaterThan(40);
      const button = figure.querySelector("button");
      button?.click();
      expect(button?.getAttribute("aria-expanded")).toBe("true");
      expect(figure.querySelectorAll("tbody tr").length).toBe(19);
    }
  });

  it("shows cells as they are marked", async () => {
    const columns = [{ name: "a", kind: "plain" as const }, { name: "b", kind: "figure" as const }, { name: "c", kind: "prose" as const }];
    const rows = [[{ text: "part", style: "plain" as const, href: "part one/report.html" }, "1-2", "`x` 3-4"], [{ text: "y", style: "code" as const }, { text: "5-6", style: "strong" as const }, { text: "no", style: "refuted" as const }]];
    const body = await drawn(of({ block: "table", caption: "t", columns, rows }));
    expect(body.querySelector("#one a")?.getAttribute("href")).toBe("part%20one/report.html");
    expect([...body.querySelectorAll("#one td")].map((cell) => cell.innerHTML.replaceAll("\u2060", ""))).toEqual([
      "1–2",
      '<code class="short">x</code> 3–4',
      "<strong>5–6</strong>",
      '<span class="confidence refuted">no</span>',
    ]);
  });

  it("shows a change as a diff and a command as it is typed", async () => {
    const body = await drawn(sample());
    expect(body.querySelector("#change .diff.added")?.textContent).toContain("worker_connections 768;");
    expect(body.querySelector("#environment pre")?.textContent).toContain("genkai");
  });
});

describe("words", () => {
  it("turn backticks into code", () => {
    expect(prose("a `b` c").map((p) => (typeof p === "string" ? p : p.outerHTML)).join("|")).toBe('a |<code class="short">b</code>| c');
  });

  it("set ranges and minus signs, and leave dates alone", () => {
    expect(typeset("359-383, -12.2 to -10.8 %")).toBe("359\u2060–\u2060383, −12.2 to −10.8\u00a0%");
    expect(typeset("2025-11-21 nginx-1.22")).toBe("2025-11-21 nginx-1.22");
  });
});

describe("tabs", () => {
  function made() {
    const build = vi.fn((name: string) => document.createTextNode(name));
    const element = tabs("Trials", ["a", "b", "c"].map((name) => ({ label: name, build: () => build(name) })));
    document.body.replaceChildren(element);
    const buttons = [...element.querySelectorAll<HTMLButtonElement>("[role=tab]")];
    const selected = () => buttons.findIndex((b) => b.getAttribute("aria-selected") === "true");
    const key = (at: number, name: string) => buttons[at]?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    return { build, element, buttons, selected, key };
  }

  it("move with arrows, Home and End, and have one tab stop", () => {
    const { buttons, selected, key } = made();
    expect(selected()).toBe(0);
    key(0, "ArrowRight");
    expect([selected(), document.activeElement]).toEqual([1, buttons[1]]);
    key(1, "End");
    expect(selected()).toBe(2);
    key(2, "ArrowRight");
    expect(selected()).toBe(0);
    key(0, "ArrowLeft");
    expect(selected()).toBe(2);
    key(2, "Home");
    expect(selected()).toBe(0);
    expect(buttons.map((b) => b.tabIndex)).toEqual([0, -1, -1]);
  });

  it("build a panel once, when it is first shown", () => {
    const { build, buttons, element } = made();
    expect(build).toHaveBeenCalledTimes(1);
    buttons[1]?.click();
    buttons[0]?.click();
    buttons[1]?.click();
    expect(build).toHaveBeenCalledTimes(2);
    const shown = [...element.querySelectorAll<HTMLElement>("[role=tabpanel]")].filter((p) => !p.hidden);
    expect(shown.map((p) => p.textContent)).toEqual(["b"]);
  });
});
