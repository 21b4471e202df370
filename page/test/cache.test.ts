import { beforeEach, describe, expect, it, vi } from "vitest";
import type { CacheData, CacheStanding } from "../src/cache/model";
import { measures } from "../src/cache/page";
import { sample } from "./data";
import { drawn } from "./drawn";

vi.stubGlobal("ResizeObserver", class { observe() {} });

function standing(name: string, rate: number, read: number | null): CacheStanding {
  const cost = { cpu: 1e-4, origin_cpu: 0, read, written: 12, memory: 1 << 20, page_cache: null };
  return { name, rate: { value: rate, interval: { low: rate * 0.9, high: rate * 1.1 }, n: 3 }, best: 1, worst: 2, cost };
}

function data(): CacheData {
  const head = { ...sample().events.find((e) => e.event === "run_started") } as unknown as CacheData["head"];
  const pass = (warmth: "cold" | "warm", rate: number) => ({
    warmth,
    standings: [standing("nginx", rate, 100), standing("squid", rate / 2, null)],
    pairs: [{ faster: "nginx", slower: "squid", ratio: { value: 2, interval: { low: 1.5, high: 2.6 }, n: 3 }, certain: true }],
    stressed: true,
  });
  return {
    schema: "genkai.page/1",
    head,
    notes: [],
    cache: {
      participants: [{ name: "nginx", version: "1", store: "disk" }, { name: "squid", version: '<img src=x onerror="alert(1)">', store: "memory" }],
      passes: [pass("cold", 1000), pass("warm", 5000)],
      held: [
        {
          warmth: "warm",
          standings: [{ name: "nginx", rate: { value: 4200, interval: { low: 4000, high: 4400 }, n: 3 } }, { name: "squid", rate: null }],
          pairs: [{ faster: "nginx", slower: "squid", ratio: { value: 1.1, interval: { low: 0.9, high: 1.3 }, n: 3 }, certain: false, more: 7 }],
        },
      ],
      objective: "errors < 0.1%",
      outcome: "fails",
    },
    words: {
      headline: "nginx is the fastest for certain.",
      answers: ["Cold: nginx 1,000/s (1)."],
      troubles: ["squid gave 2 wrong bodies."],
      caveats: ["Origin and cache share 1 core."],
      budget: "Each may use 64m.",
      columns: ["cache", "rank"],
      passes: [{ title: "Cold pass", rows: [["nginx", "1"]] }],
      rates: ["cache", "rank cold", "cold", "rank warm", "warm"],
      held: [["nginx", "-", "-", "1", "4,200 (4,000-4,400)"]],
      rules: { head: ["cache", "no-store is not kept"], rows: [["nginx", "kept"]] },
      settings: ["proxy_cache objects", "cache_mem 0 MB"],
      limits: [null, "max_filedescriptors 1024"],
    },
  };
}

/** Who is drawn in a card, and what stands beside each of its bars. */
function said(card: Element | null | undefined): string[] {
  const mark = (one: Element) => `${one.querySelector("svg.after") ? "●" : "○"}${one.textContent ?? ""}`;
  return [...(card?.querySelectorAll(".intervals > li") ?? [])].map((li) => [li.querySelector(".key")?.textContent, ...[...li.querySelectorAll(".measure")].map(mark)].join(" "));
}

describe("the page of caches", () => {
  beforeEach(() => {
    document.body.innerHTML = "";
  });

  it("says the answer, what went wrong and what it costs", async () => {
    const page = await drawn(data());
    const text = page.textContent ?? "";
    expect(page.querySelector("h1")?.textContent).toBe("nginx is the fastest for certain.");
    expect([...page.querySelectorAll("main > section")].map((s) => s.id)).toEqual(["verdict", "troubles", "costs", "figures", "pairs", "rates", "rules", "caveats", "caches", "environment"]);
    for (const said of ["squid gave 2 wrong bodies", "4,200 (4,000-4,400)", "more rounds it would take", "cache_mem 0 MB", "no-store is not kept"]) expect(text).toContain(said);
    expect(page.querySelector("img")).toBeNull();
  });

  it("draws a measure for those of whom it is known, cold above warm", async () => {
    const page = await drawn(data());
    const cards = [...page.querySelectorAll("#costs .card")];
    // Nobody has files in the page cache.
    expect(cards).toHaveLength(measures.length - 1);
    expect(said(cards[0])).toEqual(["nginx ○1,000 ●5,000", "squid ○500 ●2,500"]);
    expect(said(cards.find((card) => card.textContent?.startsWith("Read")))).toEqual(["nginx ○100 B ●100 B", "squid ○– ●–"]);
    expect(said(page.querySelector("#rates .card"))).toEqual(["nginx ●4,200", "squid ●–"]);
  });
});
