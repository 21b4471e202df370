// Predicted limits against where they were seen.
import { ruler, scale, track } from "../charts/ranges";
import { h } from "../element";
import { bytes, number, range, whole } from "../format";
import type { PageData, Predicted } from "../model";
import type { Run } from "../run";
import { section } from "./section";

/** Where a limit should bite, in words. */
export function predictedAt(p: Predicted, unit: string): string {
  if (p.bytes !== null) return `bodies above ${bytes(p.bytes)}`;
  if (p.clients) return `${range(p.clients)} clients`;
  if (p.rate) return `${range(p.rate, number)} requests/s`;
  if (p.users?.high === 0) return "the first request";
  if (p.users) return `${range(p.users)} ${unit}`;
  return "not predictable";
}

/** Limits that left signs although the objective held. */
export function atWork(data: PageData): Set<string> {
  const held = data.findings.verdict.caveats.filter((c) => c.caveat === "at_work_but_held");
  return new Set(held.flatMap((c) => c.limit ?? []));
}

/** What became of it, in words. */
export function seenAt(p: Predicted, working = false): string {
  if (working && p.observed === null) return "at work, but held";
  if (p.observed !== null && !p.clients && !p.users) return "seen";
  if (p.observed !== null) return `seen at ${whole(p.observed)}`;
  if (p.within_load) return "within the load, not seen";
  return p.clients || p.rate || p.users || p.bytes !== null ? "not reached" : "not seen";
}

/** A prediction and the configuration it is for. */
export interface Entry {
  predicted: Predicted;
  /** Set where it is not the baseline. */
  changed: boolean;
}

/** Every limit of the baseline, each followed by what was predicted and seen once it was lifted. */
export function entries(data: PageData): Entry[] {
  const v = data.findings.verdict;
  return v.predictions.flatMap((predicted) => {
    const lifted = v.causes.flatMap((c): Entry[] => {
      const test = c.counterfactual;
      if (c.predicted.limit !== predicted.limit || !test?.predicted || test.scale !== "clients") return [];
      const broke = test.observed;
      // Users are clients where they are about as many: one number for one thing.
      const same = broke && Math.abs(broke.in_flight - broke.level) <= 0.02 * broke.level;
      const observed = (same ? broke.level : broke?.in_flight) ?? null;
      const formula = "the next limit once this setting alone is changed";
      const after = { ...predicted, value: test.change.to, clients: test.predicted, observed, formula, within_load: false, far: false };
      return [{ predicted: after, changed: true }];
    });
    return [{ predicted, changed: false }, ...lifted];
  });
}

export function limits(data: PageData, run: Run): HTMLElement | null {
  const working = atWork(data);
  const far = (e: Entry) => e.predicted.far && e.predicted.observed === null && !working.has(e.predicted.limit);
  const every = entries(data);
  if (every.length === 0) return null;
  const [all, others] = [every.filter((e) => !far(e)), every.filter(far)];
  const axis = scale(all.map((e) => e.predicted), run.closed ? run.asked : null);
  const asked = run.closed ? run.asked : null;
  const row = ({ predicted: p, changed }: Entry) => {
    const seen = seenAt(p, !changed && working.has(p.limit));
    return h(
      "li",
      { class: changed ? "limit lifted" : p.observed !== null ? "limit met" : "limit" },
      h("div", { class: "limit-name" }, h("span", { class: "subject" }, changed ? "↳ with" : p.subject), " ", h("code", {}, p.value === "" ? p.setting : `${p.setting} = ${p.value}`)),
      h("div", { class: "limit-figures" }, h("span", {}, predictedAt(p, run.unit)), h("span", { class: "seen" }, p.observed !== null ? "◆ " : "", seen)),
      axis && p.clients && track(p, axis, asked, `${p.setting}: predicted at ${predictedAt(p, run.unit)}, ${seen}`),
      h("div", { class: "formula" }, p.formula),
    );
  };
  const rest =
    others.length > 0
      ? h(
          "details",
          { class: "others" },
          h("summary", {}, `${others.length} more that do not matter for this load: far beyond it, or not to be told beforehand, and no sign of them`),
          h("ol", { class: "limits" }, ...others.map(row)),
        )
      : null;
  const key = h(
    "p",
    { class: "aside key-line" },
    h("span", {}, h("span", { class: "swatch bar" }), "predicted, from first trouble to the hard limit"),
    h("span", {}, h("span", { class: "diamond" }, "◆ "), "seen"),
    asked !== null && h("span", {}, h("span", { class: "swatch load" }), `load asked for (${whole(asked)} ${run.unit})`),
    h("span", {}, "▸ beyond this axis"),
  );
  const lead = "Computed from the configuration before any load was sent, in clients at once.";
  return section("limits", "Limits", lead, axis && key, h("ol", { class: "limits" }, ...all.map(row)), axis && ruler(axis, whole), rest);
}
