// Rooms as cells: the fuller, the calmer. What is missing is told beside it.
import { h, table } from "../../element";
import { percent, whole } from "../../format";
import type { RoomsRun } from "../../model";
import type { Told } from "./page";

/** How much of a room's full marks is missing, in steps that can be told apart: 0 nothing, 4 half or more. */
export function step(score: number, full: number): number {
  const missing = full > 0 ? 1 - score / full : 0;
  if (missing <= 0) return 0;
  return [0.001, 0.02, 0.15].filter((bound) => missing > bound).length + 1;
}

const legend = ["full", "up to 0.1 % missing", "up to 2 % missing", "up to 15 % missing", "more than 15 % missing"];

export function heat({ run, said }: Told): HTMLElement {
  const cell = (score: number, room: number) =>
    h("li", { class: `cell s${step(score, run.full)}`, title: `room ${room}: ${whole(score)} of ${whole(run.full)}` }, h("span", {}, String(room)));
  const steps = [...new Set(run.rooms.map((score) => step(score, run.full)))].sort();
  return h(
    "div",
    { class: "trial" },
    h("p", { class: "facts" }, said.score),
    h("ol", { class: "heat", "aria-label": describe(run) }, ...run.rooms.map(cell)),
    h("p", { class: "key-line aside" }, ...steps.map((s) => h("span", {}, h("span", { class: `swatch cell s${s}` }), legend[s] ?? ""))),
    worst(run),
  );
}

function describe(run: RoomsRun): string {
  const full = run.rooms.filter((score) => score === run.full).length;
  return `${whole(full)} of ${whole(run.rooms.length)} rooms have a full score; scores from ${whole(Math.min(...run.rooms))} to ${whole(Math.max(...run.rooms))}`;
}

/** The rooms that miss most. */
function worst(run: RoomsRun): HTMLElement | null {
  const missing = run.rooms.map((score, room) => ({ room, score })).filter((r) => r.score < run.full);
  if (missing.length === 0) return null;
  const rows = missing
    .sort((a, b) => a.score - b.score)
    .slice(0, 100)
    .map((r) => [`room ${r.room}`, whole(r.score), whole(run.full - r.score), percent(r.score / Math.max(1, run.full))]);
  return h("details", { class: "gauges" }, h("summary", {}, `Rooms that miss most (${whole(missing.length)} are not full)`), table("Rooms that miss most", ["room", "score", "missing", "of full"], rows, [1, 2, 3], true));
}
