// The page of chat rooms: the score, where messages went, the run over time, how many nodes it takes.
import { h, prose } from "../../element";
import { number, percent, seconds, whole } from "../../format";
import type { PageData, RoomsData, RoomsRun, RoomsSaid } from "../../model";
import type { Run } from "../../run";
import { tabs } from "../../tabs";
import { environment } from "../environment";
import { section, type Sections } from "../section";
import { outcome } from "../answer";
import { block, headline, tileList, type Tile } from "../verdict";
import { heat } from "./heat";
import { over } from "./over";
import { sweep } from "./sweep";
import { way } from "./way";

/** A run with its words. */
export interface Told {
  run: RoomsRun;
  said: RoomsSaid;
}

export function rooms(data: PageData, found: RoomsData, run: Run): Sections {
  const all = found.runs.flatMap((said): Told[] => {
    const one = found.finding.runs.find((r) => r.trial === said.trial);
    return one ? [{ run: one, said }] : [];
  });
  const each = (name: string, build: (told: Told) => Node) =>
    tabs(name, all.map((told) => ({ label: told.said.title, ...(full(told.run) ? {} : { remark: percent(share(told.run)) }), build: () => build(told) })));
  const sections = [
    sweep(all.map((told) => told.run)),
    section("rooms", "Score of each room", "A room's score is what its first entrant heard. Every message that it should have heard and did not costs a point.", each("Runs", heat)),
    section("way", "Where messages went", "Servers count at every station. Between two stations stands what was lost there.", each("Runs", way)),
    section("time", "Over time", "When members came, what they heard, and when what was said that never arrived.", each("Runs", (told) => over(data, run, told.run))),
    environment(run),
  ].filter((s) => s !== null);
  const hero = h(
    "section",
    { id: "verdict", class: `hero ${found.finding.outcome}`, tabindex: -1, "aria-label": "Verdict" },
    outcome(found.finding.outcome, words[found.finding.outcome]),
    headline(found.said[0] ?? "No answer."),
    found.said.length > 1 && h("div", { class: "lead" }, ...found.said.slice(1).map((text) => h("p", {}, ...prose(text)))),
    tileList(tiles(found, all)),
    h("div", { class: "columns" }, ...columns(all)),
  );
  return { hero, answer: found.said[0] ?? "Report", sections };
}

const words = { holds: "a full score", fails: "messages are missing", invalid: "the generator was the limit", unfinished: "unfinished" };

/** Part of full marks. */
export function share(run: RoomsRun): number {
  return run.planned > 0 ? run.score / run.planned : 0;
}

/** Whether nothing is missing. */
export function full(run: RoomsRun): boolean {
  return run.planned > 0 && run.score === run.planned;
}

/** The figures that carry the answer: of the run with the best score. */
export function tiles(found: RoomsData, all: Told[]): Tile[] {
  const best = all.reduce<Told | null>((a, b) => (a && share(a.run) >= share(b.run) ? a : b), null);
  if (!best) return [];
  const { run } = best;
  const perfect = run.rooms.filter((score) => score === run.full).length;
  const smallest = found.finding.smallest_full;
  return [
    { name: all.length > 1 ? "Best score" : "Score", value: whole(run.score), note: `of ${whole(run.planned)} (${percent(share(run))}); ${whole(perfect)} of ${whole(run.rooms.length)} rooms full` },
    ...(all.length > 1 ? [{ name: "Nodes it takes", value: smallest === undefined ? "more than tried" : whole(smallest), note: "smallest number of those tried with a full score" }] : []),
    { name: "Deliveries", value: whole(run.delivered), note: `${whole(run.lost)} lost, ${whole(run.duplicated)} duplicated, ${whole(run.reordered)} out of order${run.foreign > 0 ? `, ${whole(run.foreign)} in a wrong room` : ""}` },
    { name: "Delivery within", value: seconds(run.latency.p99), note: `99 % of deliveries; half within ${seconds(run.latency.p50)}` },
    ...(all.length > 1 ? [] : [{ name: "Members", value: whole(run.entered), note: `in ${whole(run.rooms.length)} rooms${run.never_entered > 0 ? `; ${whole(run.never_entered)} never entered` : ""}; ${number(run.lasted)} s` }]),
  ];
}

function columns(all: Told[]): HTMLElement[] {
  const each = (text: (told: Told) => string | null) =>
    all.flatMap((told) => {
      const words = text(told);
      return words ? [h("p", {}, all.length > 1 ? `${told.said.title}: ` : "", ...prose(words))] : [];
    });
  const found = [
    block("Who came in", each((told) => capitalised(told.said.entries))),
    block("The router", each((told) => told.said.router)),
    block("The generator", each((told) => capitalised(told.said.generator))),
  ];
  return found.filter((column) => column !== null);
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
