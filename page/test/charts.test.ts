import { describe, expect, it } from "vitest";
import { intervals, reach } from "../src/charts/intervals";
import { latencyFigure, unitFor } from "../src/charts/latency";
import { end, loadFigure } from "../src/charts/load";
import { scale, steps, track } from "../src/charts/ranges";
import { Run } from "../src/run";
import { sample } from "./data";

function first() {
  const data = sample();
  const trial = Run.of(data).trials[0];
  const broke = data.findings.verdict.trials[0]?.broke ?? null;
  if (!trial || !broke) throw new Error("the sample has a trial that broke");
  return { trial, broke };
}

describe("the main figure", () => {
  const { trial, broke } = first();
  const figure = loadFigure(trial, broke, "users", "break: 243 users, 24.3 s", "requests");

  it("says in words what it shows", () => {
    expect(figure.description).toContain("300 users");
    expect(figure.description).toContain("break: 243 users");
    expect(figure.description).toContain("512 worker_connections are not enough");
  });

  it("has every number in its table", () => {
    const rows = figure.rows();
    expect(rows).toHaveLength(trial.points.length);
    expect(rows.every((r) => r.length === figure.head.length)).toBe(true);
  });

  it.each([320, 900])("tells its lines apart without colour at %i pixels", (width) => {
    const series = figure.option(width)["series"] as { type: string; lineStyle: { type: unknown } }[];
    const dashes = series.filter((s) => s.type === "line").map((s) => JSON.stringify(s.lineStyle.type));
    expect(new Set(dashes).size).toBe(3);
  });

  it("has the log lines on the same time axis", () => {
    const option = figure.option(900);
    const axes = option["xAxis"] as { min: number; max: number }[];
    expect(axes.map((a) => [a.min, a.max])).toEqual([
      [0, 38],
      [0, 38],
    ]);
    const grids = option["grid"] as { left: number; right: number }[];
    expect(grids[0]?.left).toBe(grids[1]?.left);
  });

  it("needs no log lines", () => {
    const quiet = { ...trial, logs: [] };
    expect((loadFigure(quiet, null, "users", null, "requests").option(900)["grid"] as unknown[]).length).toBe(1);
    expect(end({ ...trial, points: [] })).toBe(1);
  });
});

describe("the latency figure", () => {
  it("leaves gaps where there were too few values", () => {
    const { trial } = first();
    const some = { ...trial, points: trial.points.map((p, i) => (i === 0 ? { ...p, p50: null, p90: null, p99: null } : p)) };
    const figure = latencyFigure(some, null, "requests");
    expect(figure.rows()[0]).toEqual(["1", "too few", "too few", "too few"]);
    const none = { ...trial, points: [] };
    expect(latencyFigure(none, null, "requests").description).toContain("No interval");
  });

  it("chooses a unit for the whole axis", () => {
    expect(unitFor(0.3).name).toBe("ms");
    expect(unitFor(12).name).toBe("s");
  });
});

describe("ranges and intervals", () => {
  it("steps are round and cover", () => {
    expect(steps(600, 5)).toEqual([0, 200, 400, 600]);
    expect(steps(1, 5).at(-1)).toBeCloseTo(1);
  });

  it("the axis follows the load, not the furthest limit", () => {
    const axis = scale(sample().findings.verdict.predictions, 300);
    expect(axis?.high).toBe(600);
    expect(axis?.at(300)).toBeCloseTo(0.5);
    expect(axis?.at(9994)).toBeNull();
    expect(scale([], null)).toBeNull();
  });

  it("a track shows its range and where it was seen, or an arrow beyond", () => {
    const [near, , far] = sample().findings.verdict.predictions;
    const axis = scale(sample().findings.verdict.predictions, 300);
    if (!near || !far || !axis) throw new Error("the sample has limits");
    expect(track(near, axis, 300, "x").querySelectorAll(".rg-bar, .rg-seen, .rg-load")).toHaveLength(3);
    expect(track(far, axis, 300, "x").querySelector(".rg-beyond")?.textContent).toBe("▸");
  });

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
});
