import { describe, expect, it } from "vitest";
import type { LogLine } from "../src/model";
import { type At, gauges, inOrder, lanes, message, Run } from "../src/run";
import { sample } from "./data";

function line(at: number, level: string, text: string, signature: string | null = null, count = 1): At<LogLine> {
  return { at, subject: "nginx", level, text, signature, count };
}

describe("a run from its events", () => {
  it("has the trials with what was seen in each", () => {
    const run = Run.of(sample());
    expect(run.trials.map((t) => t.number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(run.trials.map((t) => t.purpose).slice(0, 3)).toEqual(["break", "counterfactual", "baseline"]);
    const [first] = run.trials;
    expect(first?.points).toHaveLength(19);
    expect(first?.points[5]?.p99).toBeGreaterThan(first?.points[5]?.p50 ?? Infinity);
    expect(first?.logs[0]?.at).toBeGreaterThan(20);
    expect(first?.ended?.reason).toBe("completed");
    expect(run.end?.diff).toContain("+\tworker_connections 768;");
    expect([run.unit, run.asked]).toEqual(["users", 300]);
  });

  it("can be built live, from ticks alone", () => {
    const data = sample();
    const run = new Run();
    for (const event of data.events.filter((e) => e.event !== "run_ended")) run.push(event);
    const points = run.trials[0]?.points ?? [];
    const found = data.findings.series[0]?.points ?? [];
    expect(points).toHaveLength(found.length);
    points.forEach((p, i) => {
      expect(p.ok).toBeCloseTo(found[i]?.ok ?? Number.NaN);
      expect(p.failed).toBeCloseTo(found[i]?.failed ?? Number.NaN);
      expect(p.at).toBeCloseTo(found[i]?.at ?? Number.NaN);
    });
    expect(run.end).toBeNull();
  });

  it("survives events without a head or of no known trial", () => {
    const run = new Run();
    run.push({ at_us: 5, trial: 9, event: "tick", from_us: 0, to_us: 1, level: 1, in_flight: 1, ok: 1, errors: [] });
    expect(run.trials).toEqual([]);
    expect([run.unit, run.asked]).toEqual(["users", null]);
  });

  it("shows the trial that broke first", () => {
    const data = sample();
    for (const t of data.findings.verdict.trials) if (t.trial < 3) t.broke = null;
    const order = inOrder(Run.of(data).trials, data).map((t) => t.number);
    expect(order).toEqual([3, 1, 2, 4, 5, 6, 7, 8]);
  });
});

describe("lanes of log lines", () => {
  it("come by severity, lines of one signature together", () => {
    const found = lanes([line(1, "warn", "w", "sig.w"), line(2, "alert", "a", "sig.a", 3), line(3, "alert", "a!", "sig.a", 4)]);
    expect(found.map((l) => [l.level, l.count, l.first, l.last, l.marks.length])).toEqual([
      ["alert", 7, 2, 3, 2],
      ["warn", 1, 1, 1, 1],
    ]);
  });

  it("take unknown lines that differ only in numbers as one", () => {
    expect(lanes([line(1, "error", "client 12 gone"), line(2, "error", "client 345 gone")])).toHaveLength(1);
  });

  it("are few, whatever the servers say", () => {
    const many = Array.from({ length: 26 }, (_, i) => line(i, "error", String.fromCharCode(97 + i)));
    const found = lanes(many, 6);
    expect(found).toHaveLength(6);
    expect(found.at(-1)).toMatchObject({ name: "others", count: 21, text: "21 other kinds of lines" });
  });

  it("put unknown severities last", () => {
    expect(lanes([line(1, "chatter", "x"), line(2, "debug", "y")]).map((l) => l.level)).toEqual(["debug", "chatter"]);
  });
});

it.each([
  ["2026/11/21 12:22:54 [alert] 11665#11665: *546 512 worker_connections are not enough", "512 worker_connections are not enough"],
  ["512 worker_connections are not enough", "512 worker_connections are not enough"],
  ["[Fri Nov 21 2025] [mpm_event:error] [pid 1:tid 2] AH00484: server reached", "AH00484: server reached"],
  ["2025-11-21T12:00:00Z no room", "no room"],
  ["2025/11/21 12:00:00", "2025/11/21 12:00:00"],
])("the message of %s", (line, want) => expect(message(line)).toBe(want));

it("gauges are the metrics over time, without those that stayed at nothing", () => {
  const [, , baseline, proposal] = Run.of(sample()).trials;
  expect(baseline && gauges(baseline).map((g) => g.name)).toContain("nginx.dropped_total");
  expect(proposal && gauges(proposal).map((g) => g.name)).not.toContain("nginx.dropped_total");
});
