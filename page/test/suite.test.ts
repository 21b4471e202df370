import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ComparisonFinding } from "../src/compare/model";
import type { SuiteData } from "../src/suite/model";
import { sample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

const HOSTILE = '<img src=x onerror="alert(1)">';

function data(): SuiteData {
  const head = { ...sample().events.find((e) => e.event === "run_started") } as unknown as SuiteData["head"];
  const effect = { figure: "throughput", effect: { value: 1.66, interval: { low: 1.61, high: 1.71 }, n: 6 }, call: "better" as const };
  const comparison: ComparisonFinding = {
    comparison: { contenders: [{ name: "baseline" }, { name: "w 30 -> 50" }], base: "baseline", margin: 0.05 },
    blocks: 4,
    subjects: [],
    pairs: [{ base: "baseline", other: "w 30 -> 50", effects: [effect] }],
    turns: [],
    outcome: "holds",
  };
  const words = {
    headline: "Beside baseline, better.",
    claim: null,
    pairs: [{ sentence: "better in throughput", sizes: ["x1.66"], intervals: ["1.61-1.71"], calls: ["better"] }],
    control: null,
    sure: "After 4 blocks.",
    stress: null,
    caveats: [],
    figures: ["throughput"],
    subjects: [],
  };
  const contenders = { head: ["settings", "completed"], rows: [["baseline", "180 of 300"], ["w 30 -> 50", "300 of 300"]] };
  const effects = { head: ["change", "throughput"], rows: [["w 30 -> 50", "better: x1.66 (1.61-1.71)"]] };
  return {
    schema: "genkai.page/1",
    head: { ...head, plan: { ...head.plan, title: "apache-websocket" } },
    notes: [],
    outcome: "holds",
    suite: { title: "apache-websocket", changes: [{ name: "changes", comparison }], advice: { claims: [] } },
    words: {
      headline: "Each of 2 searches named what is behind it.",
      answers: ["changes: w made a difference."],
      parts: [
        { name: "answer", question: "what is the limit?", answer: "Yes: change w.", named: true },
        { name: "idle", question: "why?", answer: HOSTILE, named: true },
      ],
      troubles: { head: ["trouble", "what is behind it"], rows: [["idle connections are cut", "ProxyTimeout 2"]] },
      figures: { head: ["", "500 users"], rows: [["scenarios launched", "500"]] },
      changes: [{ name: "changes", question: "which?", headline: "Beside baseline, better.", effects, contenders, words }],
      advice: { name: "claims", headline: "Of 1 piece of advice: 1 refuted.", table: { head: ["advice", "verdict"], rows: [["raise it", "refuted"]] } },
    },
  };
}

describe("the page of an experiment of several runs", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the answer, the troubles, the figures, the changes, the advice and the way to every part", async () => {
    const page = await drawn(data());
    expect(page.querySelector("h1")?.textContent).toBe("Each of 2 searches named what is behind it.");
    const ids = [...page.querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "troubles", "figures", "changes", "claims", "parts", "environment"]);
    expect(page.querySelector("#verdict > p:last-of-type")?.textContent).toBe("changes: w made a difference.");
    expect([...page.querySelectorAll("#parts a")].map((a) => a.getAttribute("href"))).toEqual(["answer/report.html", "idle/report.html"]);
    expect(page.querySelector("#changes svg")?.getAttribute("aria-label")).toBe("better in throughput");
    for (const said of ["180 of 300", "refuted", "ProxyTimeout 2"]) expect(page.textContent).toContain(said);
    expect(page.querySelector("#environment")?.textContent).not.toContain("Must hold");
    expect(page.querySelector("img")).toBeNull();
  });

  it("says what was not named", async () => {
    const missed = { ...data(), outcome: "fails" };
    missed.words.parts = missed.words.parts.map((part) => ({ ...part, named: part.name !== "idle" }));
    const page = await drawn(missed);
    expect(page.querySelector("#verdict")?.className).toContain("fails");
    expect(page.querySelector("#verdict")?.textContent).toContain("Not everything was named");
  });

  it("is as sure as the finding, whatever was named", async () => {
    for (const [outcome, said] of [
      ["holds", "Every search named what is behind it"],
      ["fails", "Not everything is decided"],
      ["invalid", "Some of this says nothing of the server"],
      ["unfinished", "Cut off before there was an answer"],
    ]) {
      const verdict = (await drawn({ ...data(), outcome })).querySelector("#verdict");
      expect(verdict?.className).toBe(`hero ${outcome}`);
      expect(verdict?.textContent).toContain(said);
    }
  });

  it("says nothing of searches where there are none", async () => {
    for (const [outcome, said] of [
      ["holds", "What was asked is decided"],
      ["unfinished", "Cut off before there was an answer"],
      ["invalid", "Some of this says nothing of the server"],
    ]) {
      const changes = { ...data(), outcome };
      Object.assign(changes.words, { headline: "changes: it ended.", parts: [], troubles: { head: [], rows: [] } });
      const verdict = (await drawn(changes)).querySelector("#verdict");
      expect(verdict?.className).toBe(`hero ${outcome}`);
      expect(verdict?.textContent).toContain(said);
      expect(verdict?.textContent).not.toContain("search");
    }
  });

  it("shows what there is of a run of a few parts", async () => {
    const few = data();
    few.suite = { title: "apache-websocket" };
    Object.assign(few.words, { changes: [], advice: null, troubles: { head: [], rows: [] } });
    const ids = [...(await drawn(few)).querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "figures", "parts", "environment"]);
  });
});
