import { beforeEach, describe, expect, it, vi } from "vitest";
import { lines } from "../src/compare/blocks";
import { effects, rows, span } from "../src/compare/effects";
import type { Call, ComparisonData, Effect, Turn } from "../src/compare/model";
import { sample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

const FIGURES = ["failures", "throughput", "p50", "p95", "p99", "max", "cpu", "memory"];

function effect(figure: string, value: number, low: number, high: number, call: Call): Effect {
  return { figure, effect: { value, interval: { low, high }, n: 6 }, call };
}

function turn(contender: string, block: number, rate: number, control = false, counts = true): Turn {
  return { contender, block, control, counts, values: [0, rate, 0.01, 0.02, 0.03, 0.04, 5e-5, 1e7] };
}

function data(): ComparisonData {
  const head = { ...sample().events.find((e) => e.event === "run_started") } as unknown as ComparisonData["head"];
  const effects = [effect("failures", -0.2, -0.25, -0.15, "better"), effect("throughput", 1.8, 1.5, 2.2, "better"), ...FIGURES.slice(2).map((f) => ({ figure: f, effect: null, call: "missing" as Call }))];
  const subject = (name: string) => ({ name, version: '<img src=x onerror="alert(1)">', held: 3, turns: 6, figures: FIGURES.map((figure) => ({ figure, value: { value: 1, interval: { low: 0.9, high: 1.1 }, n: 6 }, best: 1, worst: 2 })) });
  const texts = (text: string) => FIGURES.map(() => text);
  return {
    schema: "genkai.page/1",
    head: { ...head, plan: { ...head.plan, title: "compare changes of nginx" } },
    notes: [],
    comparison: {
      comparison: { contenders: [{ name: "baseline" }, { name: "w 64 -> 1024" }], base: "baseline", margin: 0.05 },
      blocks: 2,
      subjects: [subject("baseline"), subject("w 64 -> 1024")],
      pairs: [{ base: "baseline", other: "w 64 -> 1024", effects }],
      turns: [turn("baseline", 1, 100), turn("baseline", 1, 101, true), turn("w 64 -> 1024", 1, 180), turn("baseline", 2, 99, false, false), turn("w 64 -> 1024", 2, 181)],
      outcome: "holds",
    },
    words: {
      headline: "w 64 -> 1024 beside baseline: better in throughput x1.8.",
      claim: null,
      pairs: [{ sentence: "better in throughput", sizes: texts("x1.8"), intervals: texts("1.5-2.2"), calls: texts("better") }],
      control: "Control: no difference.",
      sure: "After 2 blocks.",
      stress: null,
      caveats: ["baseline fails more"],
      figures: texts("throughput"),
      subjects: [0, 1].map(() => ({ settings: "worker_connections 64", errors: "none", values: texts("100/s"), ranks: texts("1") })),
    },
  };
}

describe("the page of compared systems", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the sentence to quote on top, then its sections", async () => {
    const body = await drawn(data());
    const ids = [...body.querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "pairs", "figures", "blocks", "caveats", "systems", "environment"]);
    expect(body.querySelector("h1")?.textContent).toContain("better in throughput");
    expect(body.querySelector("img")).toBeNull();
    expect(body.querySelector("#caveats")?.textContent).toContain("baseline fails more");
  });

  it("has what private copies differ in, folded", async () => {
    const copied = data();
    const [subject] = copied.comparison.subjects;
    const [words] = copied.words.subjects;
    if (!subject || !words) throw new Error("no subject");
    subject.rewrites = [{ place: "/u/squid.conf:3", from: "http_port 80 accel", to: "http_port 127.0.0.1:7 accel" }];
    words.copy = "1 line of squid.conf differs in its private copy";
    const body = await drawn(copied);
    const folded = [...body.querySelectorAll("#systems details")].map((one) => one.textContent);
    expect(folded).toHaveLength(1);
    expect(folded[0]).toContain("baseline: 1 line of squid.conf differs");
    expect(folded[0]).toContain("http_port 127.0.0.1:7 accel");
  });

  it("without two blocks shows no figures", async () => {
    const cut = data();
    cut.comparison.blocks = 1;
    cut.comparison.outcome = "unfinished";
    const body = await drawn(cut);
    expect(body.querySelector("#pairs")).toBeNull();
    expect(body.querySelector("#verdict table")).toBeNull();
  });
});

describe("effects", () => {
  it("are drawn as factors, failures apart", () => {
    const pair = data().comparison.pairs[0];
    if (!pair) throw new Error("no pair");
    expect(rows(pair).map((row) => row.figure)).toEqual(["throughput"]);
    expect(span(pair, 0.05)).toBeCloseTo(2.2 * 1.04);
    const svg = effects(pair, FIGURES, 0.05, "label");
    expect(svg?.querySelectorAll(".fx.better .fx-dot")).toHaveLength(1);
    expect(svg?.querySelector(".fx-margin")).not.toBeNull();
    expect(effects({ ...pair, effects: [] }, FIGURES, 0.05, "")).toBeNull();
  });

  it("have an axis that holds any interval within reason", () => {
    const pair = { base: "a", other: "b", effects: [effect("p50", 1, 0, 1e9, "cannot_tell")] };
    expect(span(pair, 0.05)).toBe(10);
  });
});

describe("blocks", () => {
  it("have a line a contender and one for the control, with gaps where a turn does not count", () => {
    const all = lines(data().comparison, { at: 1, title: "Throughput", unit: "", factor: 2 });
    expect(all).toEqual([
      ["baseline", [[1, 200], [2, null]]],
      ["w 64 -> 1024", [[1, 360], [2, 362]]],
      ["baseline, again", [[1, 202]]],
    ]);
  });
});
