// The page of requests held open: the largest number that was borne, every number that was tried, what refuses.
import { chart, type Figure } from "../chart";
import { line, margins, text, valueAxis } from "../charts/time";
import { h, prose, table } from "../element";
import { whole } from "../format";
import type { HeldData, HeldTrial } from "../model";
import type { Run } from "../run";
import { colour } from "../theme";
import { environment } from "./environment";
import { section, type Sections } from "./section";
import { outcome } from "./answer";
import { headline, tileList, type Tile } from "./verdict";

export function held(found: HeldData, run: Run): Sections {
  const { finding, said } = found;
  const hero = h(
    "section",
    { id: "verdict", class: `hero ${finding.outcome}`, tabindex: -1, "aria-label": "Verdict" },
    outcome(finding.outcome, words[finding.outcome]),
    headline(said[0] ?? "No answer."),
    said.length > 1 && h("div", { class: "lead" }, ...said.slice(1).map((text) => h("p", {}, ...prose(text)))),
    tileList(tiles(found)),
  );
  const sections = [search(found), limits(found), environment(run)].filter((s) => s !== null);
  return { hero, answer: said[0] ?? "Report", sections };
}

const words = { holds: "none was refused", fails: "some are refused", invalid: "the generator was the limit", unfinished: "unfinished" };

/** Whether every request was held and answered. */
export function borne(trial: HeldTrial): boolean {
  return trial.refused.length === 0 && trial.answered >= trial.requests;
}

export function tiles({ finding }: HeldData): Tile[] {
  const all: Tile[] = [];
  if (finding.largest !== undefined) {
    const each = finding.nodes > 1 ? `; ${whole(finding.largest / finding.nodes)} a node` : "";
    all.push({ name: "Held at once", value: whole(finding.largest), note: `for ${finding.time}, none refused${each}` });
  }
  if (finding.refused_from !== undefined) {
    all.push({ name: "Refused from", value: whole(finding.refused_from), note: "the smallest number of which some were refused" });
  }
  return [...all, { name: "Trials", value: whole(finding.trials.length), note: `on ${whole(finding.nodes)} ${finding.nodes === 1 ? "node" : "nodes"}` }];
}

function search(found: HeldData): HTMLElement {
  const { trials } = found.finding;
  const rows = trials.map((trial) => {
    const said = found.trials.find((one) => one.trial === trial.trial);
    return [
      whole(trial.requests),
      whole(trial.at_once),
      whole(trial.answered),
      h("span", { class: borne(trial) ? "confidence proved" : "confidence refuted" }, borne(trial) ? "✓ none" : (said?.refused ?? "")),
      said?.told ?? "",
    ];
  });
  const head = ["requests", "held at once", "answered", "refused or failed", "what the router says"];
  return section("search", "The search", "Each trial holds so many requests open at the same time.", chart(figure(trials)), table("Requests held open", head, rows, [0, 1, 2]));
}

/** Answered of each number that was tried, by number. */
export function figure(trials: HeldTrial[]): Figure {
  const sorted = [...trials].sort((a, b) => a.requests - b.requests);
  return {
    title: "Answered, by requests at once",
    description: `${sorted.map((trial) => `${whole(trial.requests)}: ${borne(trial) ? "all" : whole(trial.answered)}`).join("; ")}.`,
    height: (width) => 40 + (width < 560 ? 180 : 240) + 50,
    option: (width) => ({
      animation: false,
      grid: { ...margins(width), top: 40, height: width < 560 ? 180 : 240 },
      xAxis: {
        type: "category",
        data: sorted.map((trial) => whole(trial.requests)),
        name: "requests at once",
        nameLocation: "middle",
        nameGap: 30,
        nameTextStyle: text(),
        axisLine: { lineStyle: { color: colour("axis") } },
        axisLabel: text(),
      },
      yAxis: valueAxis("answered", whole),
      series: [
        line("answered", "ok", "solid", sorted.map((trial) => [whole(trial.requests), trial.answered] as unknown as (number | null)[]), {
          showSymbol: true,
          symbolSize: 10,
          itemStyle: { color: (at: { dataIndex: number }) => colour(sorted[at.dataIndex] && borne(sorted[at.dataIndex] as HeldTrial) ? "good" : "fail") },
        }),
      ],
    }),
    head: ["requests", "answered"],
    rows: () => sorted.map((trial) => [whole(trial.requests), whole(trial.answered)]),
  };
}

function limits({ finding, limits: all }: HeldData): HTMLElement | null {
  if (all.length === 0) {
    if (finding.refused_from === undefined) return null;
    return section("limits", "What refuses", null, h("p", {}, "Nothing that was looked at names it."));
  }
  const one = (limit: HeldData["limits"][number]) =>
    h(
      "li",
      { class: "limit met" },
      h("div", { class: "limit-name" }, ...prose(limit.title)),
      h("div", {}, limit.caps),
      h("div", { class: "formula" }, `${limit.formula} (${limit.source})`),
      h("ul", { class: "evidence" }, ...limit.evidence.map((text) => h("li", {}, text))),
    );
  return section("limits", "What refuses", "As far as signs name it, the best founded first.", h("ol", { class: "limits" }, ...all.map(one)));
}
