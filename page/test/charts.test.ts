import { describe, expect, it } from "vitest";
import { lines } from "../src/charts/lines";
import { steps } from "../src/charts/steps";
import { trend } from "../src/charts/trend";
import { effects, span } from "../src/drawings/effects";
import { intervals, reach } from "../src/drawings/intervals";
import { scale, steps as marks, track } from "../src/drawings/tracks";
import { toneOf } from "../src/tones";
import type { Block, Chart, LimitRow, PageData, Plot } from "../src/types";
import { heldSample, roomsSample, sample } from "./data";

/** Every chart of a document. */
function charts(data: PageData): Chart[] {
  const inside = (one: Block): Chart[] => {
    if (one.block === "chart") return [one];
    if (one.block === "tabs") return one.tabs.flatMap((tab) => tab.blocks.flatMap(inside));
    return [];
  };
  return data.document.sections.flatMap((section) => section.blocks.flatMap(inside));
}

function plot<K extends Plot["plot"]>(data: PageData, kind: K): Extract<Plot, { plot: K }> {
  const found = charts(data).map((chart) => chart.plot).find((one) => one.plot === kind);
  if (!found) throw new Error(`the sample has no ${kind}`);
  return found as Extract<Plot, { plot: K }>;
}

describe("lines over time", () => {
  it.each([320, 900])("differ in more than colour at %i pixels", (width) => {
    const series = lines(plot(sample(), "time")).option(width)["series"] as { type: string; lineStyle: { type: unknown } }[];
    const dashes = series.filter((s) => s.type === "line").map((s) => JSON.stringify(s.lineStyle.type));
    expect(new Set(dashes).size).toBe(3);
  });

  it.each([sample, roomsSample])("have their panes and log lines on one time axis", (data) => {
    const time = plot(data(), "time");
    const option = lines(time).option(900);
    const axes = option["xAxis"] as { min: number; max: number }[];
    expect(axes).toHaveLength(time.panes.length + 1);
    expect(new Set(axes.map((axis) => axis.max)).size).toBe(1);
    const grids = option["grid"] as { left: number; top: number; height: number }[];
    expect(new Set(grids.map((grid) => grid.left)).size).toBe(1);
    const last = grids.at(-1);
    expect(lines(time).height(900)).toBeGreaterThanOrEqual((last?.top ?? 0) + (last?.height ?? 0));
  });

  it("need no log lines", () => {
    const quiet = { ...plot(sample(), "time"), lanes: [], mark: null };
    expect((lines(quiet).option(900)["grid"] as unknown[]).length).toBe(quiet.panes.length);
  });
});

it("steps are coloured by whether they are as they should be", () => {
  const option = steps(plot(heldSample(), "steps")).option(900);
  expect((option["xAxis"] as { data: string[] }).data).toEqual(["8", "10", "16"]);
});

it("trends have a line a contender and rings where something held it up", () => {
  const one = { name: "a", tone: 0, points: [[1, 5], [2, null]] as [number, number | null][], rings: [[1, 5, 2]] as [number, number, number][] };
  const series = trend({ step: "round", last: 2, unit: "ms", lines: [one, { ...one, name: "b", tone: 1, rings: [] }] }).option(900)["series"] as { type: string }[];
  expect(series.map((s) => s.type)).toEqual(["line", "scatter", "line"]);
});

it("contenders differ in more than colour", () => {
  expect(new Set(Array.from({ length: 7 }, (_, i) => JSON.stringify(toneOf(i)))).size).toBe(7);
});

describe("tracks", () => {
  const row = (range: [number, number], at: number | null): LimitRow => ({ subject: "nginx", setting: "x = 1", lifted: false, predicted: "", seen: "", met: at !== null, near: true, range, at, notes: [], evidence: [] });
  const rows = [row([239, 255], 243), row([359, 383], null), row([9994, 10000], null)];

  it("have an axis that follows the load, not the furthest limit", () => {
    expect(marks(600, 5)).toEqual([0, 200, 400, 600]);
    expect(marks(1, 5).at(-1)).toBeCloseTo(1);
    const axis = scale(rows, 300);
    expect(axis?.high).toBe(600);
    expect(axis?.at(300)).toBeCloseTo(0.5);
    expect(axis?.at(9994)).toBeNull();
    expect(scale([], null)).toBeNull();
  });

  it("show a range and where it was seen, or an arrow beyond", () => {
    const [near, , far] = rows;
    const axis = scale(rows, 300);
    if (!near || !far || !axis) throw new Error("no rows");
    expect(track(near, axis, 300, "x").querySelectorAll(".rg-bar, .rg-seen, .rg-load")).toHaveLength(3);
    expect(track(far, axis, 300, "x").querySelector(".rg-beyond")?.textContent).toBe("▸");
  });
});

describe("intervals and effects", () => {
  it("before is hollow and after filled, all-zero intervals included", () => {
    const zero = { value: 0, interval: { low: 0, high: 0 }, n: 3 };
    const marks = [
      { estimate: zero, filled: false, value: "0" },
      { estimate: zero, filled: true, value: "0" },
      { estimate: null, filled: true, value: "–" },
    ];
    expect(reach(marks)).toBe(1);
    const drawn = intervals([{ name: "a", marks }]);
    expect(drawn.querySelectorAll(".before, .after")).toHaveLength(3);
    expect(drawn.querySelectorAll(".iv-dot")).toHaveLength(2);
    expect(drawn.textContent).toBe("a00–");
    expect(drawn.outerHTML).not.toContain("NaN");
  });

  it("effects have an axis that holds any interval within reason", () => {
    const row = (value: number, low: number, high: number) => ({ name: "throughput", ratio: { value, interval: { low, high }, n: 6 }, call: "better" });
    expect(span([row(1.8, 1.5, 2.2)], 0.05)).toBeCloseTo(2.2 * 1.04);
    expect(span([row(1, 0, 1e9)], 0.05)).toBe(10);
    const svg = effects([row(1.8, 1.5, 2.2)], 0.05, "label");
    expect(svg.querySelectorAll(".fx.better .fx-dot")).toHaveLength(1);
    expect(svg.querySelector(".fx-margin")).not.toBeNull();
  });
});
