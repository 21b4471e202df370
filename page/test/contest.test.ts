import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ContestData, Standing } from "../src/contest/model";
import { pauses, places, points } from "../src/contest/rounds";
import { toneOf, tones } from "../src/contest/tones";
import { sample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

function standing(name: string, ms: (number | null)[], paused: number[] = []): Standing {
  const rounds = ms.map((figure, i) => ({ start: 1, round: i + 11, figure: figure === null ? null : figure / 1e3, paused: paused[i] ?? 0 }));
  const value = (ms[0] ?? 1) / 1e3;
  return { name, figure: { value, interval: { low: value * 0.9, high: value * 1.1 }, n: ms.length }, best: 1, worst: 2, rounds, failed: 0 };
}

function data(): ContestData {
  const head = { ...sample().events.find((e) => e.event === "run_started") } as unknown as ContestData["head"];
  const standings = [standing("embedded", [1, 1.1, 1.2]), standing("tomcat", [3, null, 2], [0, 0, 0.004])];
  const ratio = { value: 2.6, interval: { low: 2.1, high: 3.2 }, n: 3 };
  return {
    schema: "genkai.page/1",
    head: { ...head, plan: { ...head.plan, title: "websocket-servers (quick)", contest: {} } },
    notes: ["jetty needs a JDK"],
    contest: {
      contest: { contenders: [{ name: "embedded", server: "embedded" }, { name: "tomcat", server: "tomcat" }], clients: 200, rounds: 3, warm_up: 10, starts: 1 },
      entrants: [{ name: "embedded", version: "genkai 1" }, { name: "tomcat", version: '<img src=x onerror="alert(1)">' }],
      cases: [{ case: "receive", standings, pairs: [{ faster: "embedded", slower: "tomcat", ratio, certain: true }] }],
      outcome: "fails",
    },
    words: {
      headline: "embedded is the fastest for certain in 1 of 1 case.",
      limits: ["tomcat takes text messages of 8,192 bytes"],
      caveats: [],
      cases: [{ title: "One message to 200 clients", told_apart: "They can be told apart.", ranks: ["1", "2"], figures: ["1 ms, 95 %", "3 ms, 95 %"] }],
      entrants: [
        { settings: "-", usage: "1 s", pauses: null, started: "1 s" },
        { settings: "heap 1g", usage: "2 s", pauses: "Pause Young: 3 pauses", started: "2 s" },
      ],
    },
  };
}

describe("the page of a comparison", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the answer on top, then its sections; what there is not is left out", async () => {
    const body = await drawn(data());
    const ids = [...body.querySelectorAll("main > section")].map((s) => s.id);
    expect(ids).toEqual(["verdict", "cases", "rounds", "limits", "servers", "environment"]);
    expect(body.querySelector("h1")?.textContent).toBe("embedded is the fastest for certain in 1 of 1 case.");
    const cells = [...body.querySelectorAll("#verdict tbody td")].map((cell) => cell.textContent.replace("\u00a0", " "));
    expect(cells).toEqual(["1 ms (1)", "3 ms (2)"]);
    expect(body.querySelector("#environment")?.textContent).not.toContain("Must hold");
    expect(body.querySelector("#environment")?.textContent).toContain("jetty needs a JDK");
    expect(document.title).toContain("websocket-servers");
  });

  it("shows a changed setting beside the same server without", async () => {
    const swept = data();
    swept.contest.contest.contenders = [{ name: "embedded", server: "x" }, { name: "tomcat", server: "x", variant: true }];
    const body = await drawn(swept);
    const cells = () => [...body.querySelectorAll("#changed tbody td")].map((cell) => cell.textContent.replaceAll("\u00a0", " "));
    expect(cells()).toEqual(["embedded", "1 ms", "tomcat", "3 ms", "slower, 2.6× (2.1–3.2)"]);
    for (const pair of swept.contest.cases[0]?.pairs ?? []) pair.certain = false;
    await drawn(swept);
    expect(cells().at(-1)).toBe("not distinguishable");
  });

  it("keeps server text as text", async () => {
    const body = await drawn(data());
    expect(body.querySelector("img")).toBeNull();
    expect(body.querySelector("#servers")?.textContent).toContain("<img src=x");
  });

  it("gives each chart of rounds its numbers, with pauses", async () => {
    const body = await drawn(data());
    const figure = body.querySelector("#rounds figure");
    figure?.querySelector("button")?.click();
    const rows = [...(figure?.querySelectorAll("tbody tr") ?? [])].map((row) => [...row.children].map((cell) => cell.textContent));
    expect(rows).toEqual([
      ["11", "1 ms", "3 ms", "–"],
      ["12", "1.1 ms", "–", "–"],
      ["13", "1.2 ms", "2 ms", "tomcat 4 ms"],
    ]);
  });
});

describe("rounds", () => {
  it("of several starts follow one another", () => {
    const one = standing("a", [5, 6]);
    one.rounds.push({ start: 2, round: 11, figure: 0.007, paused: 0.001 });
    const at = places({ case: "send", standings: [one], pairs: [] });
    expect([...at.values()]).toEqual([1, 2, 3]);
    expect(points(one, at)).toEqual([[1, 5], [2, 6], [3, 7]]);
    expect(pauses(one, at)).toEqual([[3, 7, 1]]);
  });
});

describe("tones", () => {
  it("differ between any two contenders in more than colour", () => {
    const contenders = ["a", "b", "c", "d", "e", "f", "g"].map((name) => ({ name }));
    const all = tones(contenders.map((one) => one.name));
    const keys = contenders.map(({ name }) => JSON.stringify(toneOf(all, name)));
    expect(new Set(keys).size).toBe(7);
  });
});
