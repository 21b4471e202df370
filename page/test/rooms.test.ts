import { beforeEach, describe, expect, it, vi } from "vitest";
import { Run } from "../src/run";
import { step } from "../src/sections/rooms/heat";
import { deliveries, times } from "../src/sections/rooms/over";
import { figure } from "../src/sections/rooms/sweep";
import { tiles } from "../src/sections/rooms/page";
import { roomsSample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

describe("the page of chat rooms", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the score on top, then its own sections", async () => {
    const body = await drawn(roomsSample());
    expect(body.querySelector("h1")?.textContent).toBe("The smallest number of nodes with a full score: 3.");
    expect([...body.querySelectorAll("main > section")].map((s) => s.id)).toEqual(["verdict", "sweep", "rooms", "way", "time", "environment"]);
    expect(body.textContent).toContain("waited too long for a node with room");
  });

  it("has a cell for each room, told by more than colour", async () => {
    const body = await drawn(roomsSample());
    const cells = [...body.querySelectorAll(".heat .cell")];
    expect(cells).toHaveLength(20);
    expect(cells[3]?.getAttribute("title")).toBe("room 3: 40 of 100");
    expect(body.querySelector(".heat")?.getAttribute("aria-label")).toContain("17 of 20 rooms");
  });

  it("hangs every loss at the station before which it happened", async () => {
    const body = await drawn(roomsSample());
    const lossy = [...body.querySelectorAll(".station.lossy")].map((s) => s.textContent);
    expect(lossy).toHaveLength(2);
    expect(lossy.join()).toContain("−20");
    expect(lossy.join()).toContain("−290");
  });

  it("keeps what servers say as text", async () => {
    const data = roomsSample();
    const hostile = '<img src=x onerror="alert(1)">';
    for (const run of data.rooms?.runs ?? []) run.router = hostile;
    const body = await drawn(data);
    expect(body.querySelector("img")).toBeNull();
    expect(body.textContent).toContain(hostile);
  });

  it("shows what there is of a run without anything over time", async () => {
    const data = roomsSample();
    for (const run of data.rooms?.finding.runs ?? []) delete run.over;
    expect((await drawn(data)).textContent).toContain("Nothing was recorded over time");
  });
});

describe("figures of rooms", () => {
  const data = roomsSample();
  const found = data.rooms;
  const trial = Run.of(data).trials[0];
  const run = found?.finding.runs[0];
  if (!found || !trial || !run?.over) throw new Error("the sample has chat rooms");

  it("say in words what they show, and have every number in a table", () => {
    const over = deliveries(run.over ?? [], trial, run, [41]);
    expect(over.description).toContain("Messages that never arrived were sent between 41 and 41 seconds");
    expect(times(run.over ?? [], run).description).toContain("12 ms");
    for (const one of [over, times(run.over ?? [], run), figure(found.finding.runs)]) {
      expect(one.rows().every((row) => row.length === one.head.length)).toBe(true);
    }
    expect(figure(found.finding.runs).description).toContain("2 nodes: 1,880; 3 nodes: 2,000, of 2,000");
  });

  it.each([320, 900])("put deliveries, losses and log lines on one time axis at %i pixels", (width) => {
    const option = deliveries(run.over ?? [], trial, run, []).option(width);
    const axes = option["xAxis"] as { max: number }[];
    expect(axes).toHaveLength(3);
    expect(new Set(axes.map((axis) => axis.max)).size).toBe(1);
  });

  it("carry the answer in tiles", () => {
    const all = found.finding.runs.flatMap((one, i) => (found.runs[i] ? [{ run: one, said: found.runs[i] }] : []));
    expect(tiles(found, all).map((tile) => tile.value)).toEqual(["2,000", "3", "19,000", "12 ms"]);
  });

  it("tell rooms apart by what is missing", () => {
    expect([100, 99.95, 99, 90, 50].map((score) => step(score, 100))).toEqual([0, 1, 2, 3, 4]);
    expect(step(0, 0)).toBe(0);
  });
});
