import { beforeEach, describe, expect, it, vi } from "vitest";
import { borne, figure, tiles } from "../src/sections/held";
import { heldSample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

describe("the page of requests held open", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("has the largest number on top, then the search and what refuses", async () => {
    const body = await drawn(heldSample());
    expect(body.querySelector("h1")?.textContent).toBe("2 nodes: 10 requests held open for 1.5s at once (5 a node), none refused; of 11 some are.");
    expect([...body.querySelectorAll("main > section")].map((s) => s.id)).toEqual(["verdict", "search", "limits", "environment"]);
    expect(body.textContent).toContain("server.maxconn");
    expect(body.querySelectorAll("#search tbody tr")).toHaveLength(3);
  });

  it("says that nothing names what refuses, where that is so", async () => {
    const data = heldSample();
    if (data.held) data.held.limits = [];
    expect((await drawn(data)).querySelector("#limits")?.textContent).toContain("Nothing that was looked at names it");
  });

  it("keeps what servers say as text", async () => {
    const data = heldSample();
    const hostile = '<img src=x onerror="alert(1)">';
    for (const limit of data.held?.limits ?? []) limit.evidence = [hostile];
    const body = await drawn(data);
    expect(body.querySelector("img")).toBeNull();
    expect(body.textContent).toContain(hostile);
  });

  it("has its figures in words, in tiles and in a table", () => {
    const { held } = heldSample();
    if (!held) throw new Error("the sample holds requests");
    const shown = figure(held.finding.trials);
    expect(shown.description).toBe("8: all; 10: all; 16: 10.");
    expect(shown.rows().every((row) => row.length === shown.head.length)).toBe(true);
    expect(held.finding.trials.map(borne)).toEqual([true, false, true]);
    expect(tiles(held).map((tile) => tile.value)).toEqual(["10", "11", "3"]);
  });
});
