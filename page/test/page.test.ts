import { beforeEach, describe, expect, it, vi } from "vitest";
import { prose, typeset } from "../src/element";
import { Run } from "../src/run";
import { shell } from "../src/sections/environment";
import { entries, limits } from "../src/sections/limits";
import { tiles } from "../src/sections/verdict";
import { tabs } from "../src/tabs";
import { sample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

describe("the page", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the verdict on top, then every section with a link to it", async () => {
    const body = await drawn(sample());
    expect(body.querySelector("h1")?.textContent).toBe("Yes: change worker_connections from 512 to 768.");
    const ids = [...body.querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "time", "proof", "limits", "evidence", "change", "trials", "environment"]);
    const links = [...body.querySelectorAll("nav a")].map((a) => a.getAttribute("href"));
    expect(links).toEqual(ids.slice(1).map((id) => `#${id}`));
    expect(document.title).toContain("change worker_connections");
  });

  it("keeps server text as text", async () => {
    const data = sample();
    const hostile = '<img src=x onerror="alert(1)">';
    for (const e of data.events) if (e.event === "log") e.text = hostile;
    const cause = data.causes[0];
    if (cause) cause.evidence = [hostile];
    const body = await drawn(data);
    expect(body.querySelector("img")).toBeNull();
    expect(body.textContent).toContain(hostile);
  });

  it("shows what there is of a run that was cut off", async () => {
    const data = sample();
    data.events = data.events.filter((e) => e.event === "run_started");
    data.findings.series = [];
    data.causes = [];
    Object.assign(data.findings.verdict, { outcome: "unfinished", causes: [], trials: [], proof: null, predictions: [], next: null });
    const ids = [...(await drawn(data)).querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "environment"]);
  });

  it("says so when the data are not its own", async () => {
    await expect(drawn({ ...sample(), schema: "other" })).rejects.toThrow("genkai.page/1");
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
});

describe("tiles", () => {
  it("carry the verdict in figures", () => {
    const data = sample();
    const shown = tiles(data, Run.of(data)).map((t) => t.value);
    expect(shown[0]).toBe("243 users");
    expect(shown[1]).toBe("371 users");
    expect(shown[2]).toMatch(/^1[0-9.]+ % → 0 %$/);
    expect(shown[3]).toBe("359–383 clients");
  });

  it("count what the load counts", async () => {
    const data = sample();
    data.counted = { all: "messages", failed: "failed openings" };
    expect(tiles(data, Run.of(data))[2]?.name).toBe("Failed openings");
    const body = await drawn(data);
    expect(body.querySelector("#proof")?.textContent).toContain("Failed openings");
    expect(body.querySelector("#time")?.textContent).toContain("messages failed");
    for (const id of ["proof", "trials", "time"]) expect(body.querySelector(`#${id}`)?.textContent).not.toContain("requests");
  });

  it("say nothing of a server when the generator was the limit", () => {
    const data = sample();
    data.findings.verdict.outcome = "invalid";
    expect(tiles(data, Run.of(data))).toEqual([]);
  });
});

it("limits show what was predicted and seen once lifted", () => {
  const all = entries(sample());
  expect(all[1]).toMatchObject({ changed: true, predicted: { value: "768", observed: 371, clients: { low: 359, high: 383 } } });
  expect(all.filter((e) => e.changed)).toHaveLength(1);
});

it("limits that do not matter are folded, and those at work while it held are said to be", () => {
  const data = sample();
  const shown = () => limits(data, Run.of(data));
  const folded = shown()?.querySelectorAll("details.others .limit").length ?? 0;
  expect(folded).toBeGreaterThan(0);
  const far = data.findings.verdict.predictions.find((p) => p.far);
  if (!far) throw new Error("the sample has a limit that does not matter");
  data.findings.verdict.caveats = [{ caveat: "at_work_but_held", limit: far.limit }];
  expect(shown()?.querySelectorAll("details.others .limit")).toHaveLength(folded - 1);
  expect(shown()?.textContent).toContain("at work, but held");
});

describe("words", () => {
  it("turn backticks into code", () => {
    expect(prose("a `b` c").map((p) => (typeof p === "string" ? p : p.outerHTML)).join("|")).toBe('a |<code class="short">b</code>| c');
  });

  it("set ranges and minus signs, and leave dates alone", () => {
    expect(typeset("359-383, -12.2 to -10.8 %")).toBe("359\u2060–\u2060383, −12.2 to −10.8\u00a0%");
    expect(typeset("2025-11-21 nginx-1.22")).toBe("2025-11-21 nginx-1.22");
  });

  it("quote a command line", () => {
    expect(shell(["genkai", "tune", "--objective", "errors < 0.1%", "it's"])).toBe("genkai tune --objective 'errors < 0.1%' 'it'\\''s'");
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
