// Every trial over time: requests and failures with the log lines beneath, latency, what servers showed.
import { chart } from "../chart";
import { latencyFigure } from "../charts/latency";
import { end, failedShare, loadFigure } from "../charts/load";
import { spark } from "../charts/ranges";
import { h, table } from "../element";
import { number, seconds, whole } from "../format";
import type { Break, PageData, TrialFinding } from "../model";
import { gauges, inOrder, lanes, type Gauge, type Run, type Trial } from "../run";
import { tabs } from "../tabs";
import { section } from "./section";

const levels: Record<string, string> = { emerg: "▲", alert: "▲", crit: "▲", error: "◆", warn: "●" };

export function time(data: PageData, run: Run): HTMLElement | null {
  const shown = inOrder(run.trials.filter((t) => t.points.length > 0), data);
  if (shown.length === 0) return null;
  const all = shown.map((trial) => {
    const found = data.findings.verdict.trials.find((t) => t.trial === trial.number) ?? null;
    const label = `${trial.number} · ${data.words.purposes[trial.purpose] ?? trial.purpose}`;
    return { label, ...(found?.broke ? { remark: "broke" } : {}), build: () => panel(data, run, trial, found) };
  });
  const lead = "Each trial is one load on one configuration. The trial that found the break comes first.";
  return section("time", "Over time", lead, tabs("Trials", all));
}

function panel(data: PageData, run: Run, trial: Trial, found: TrialFinding | null): HTMLElement {
  const broke = found?.broke ?? null;
  const place = (b: Break) => (b.level < 1.5 ? "from the first request" : `${whole(b.level)} ${run.unit}`);
  const words = broke ? `break: ${place(broke)}, ${number(broke.at)} s` : null;
  return h(
    "div",
    { class: "trial" },
    facts(data, run, trial, found),
    chart(loadFigure(trial, broke, run.unit, words, data.counted.all)),
    logList(trial),
    chart(latencyFigure(trial, broke, data.counted.all)),
    gaugeList(data, trial, broke),
  );
}

function facts(data: PageData, run: Run, trial: Trial, found: TrialFinding | null): HTMLElement {
  const changes = trial.changes.map((c) => `${c.setting} from ${c.from} to ${c.to}`).join(", ");
  const parts = [changes ? `With ${changes}.` : "With the configuration as it was."];
  if (found) {
    parts.push(
      `${whole(found.asked)} ${run.unit} asked for; ${whole(found.failed)} of ${whole(found.finished)} ${data.counted.all} failed ` +
        `(${failedShare(found.failed, found.finished)}) in ${seconds(found.lasted)}.`,
    );
    const kinds = found.errors.map((e) => `${whole(e.count)} × ${data.words.errors[e.kind] ?? e.kind}`);
    if (kinds.length > 0) parts.push(`Failures: ${kinds.join(", ")}.`);
  }
  const ended = trial.ended && data.words.ends[trial.ended.reason];
  if (ended) parts.push(`The load ${ended}.`);
  for (const s of trial.states.filter((s) => s.state === "died" || s.state === "worker_died")) {
    parts.push(`At ${number(s.at)} s ${s.subject} ${data.words.states[s.state] ?? s.state}${s.detail ? ` (${s.detail})` : ""}.`);
  }
  return h("p", { class: "facts" }, parts.join(" "));
}

/** The log lines of the chart's lanes, in the same order, in words. */
export function logList(trial: Trial): HTMLElement {
  const found = lanes(trial.logs);
  if (found.length === 0) return h("p", { class: "aside" }, "No server wrote to its log in this trial.");
  const rows = found.map((l) => [
    h("span", { class: `log-level ${l.level}` }, `${levels[l.level] ?? "■"} ${l.name}`),
    h("code", {}, l.text),
    whole(l.count),
    `${number(l.first)} s`,
    `${number(l.last)} s`,
  ]);
  return h("div", { class: "loglist" }, table("Server log lines", ["log", "line", "lines", "first", "last"], rows, [2, 3, 4]));
}

export function gaugeList(data: PageData, trial: Trial, broke: Break | null): HTMLElement | null {
  const found = gauges(trial);
  if (found.length === 0) return null;
  const last = end(trial);
  const item = (g: Gauge) => {
    const name = data.metrics[g.name] ?? g.name;
    const words = g.name.endsWith("_total")
      ? `rose from ${number(g.points[0]?.[1] ?? 0)} to ${number(g.last)}`
      : g.low === g.high
        ? `${number(g.high)} throughout`
        : `${number(g.low)} to ${number(g.high)}, last ${number(g.last)}`;
    return h("li", {}, h("span", { class: "gauge-name", title: g.name }, h("span", { class: "subject" }, `${g.name.split(".")[0]} `), name), spark(g.points, last, broke?.at ?? null, `${name}: ${words}`), h("span", { class: "gauge-words" }, words));
  };
  return h("details", { class: "gauges" }, h("summary", {}, `What the servers showed (${found.length} gauges and counters)`), h("ul", {}, ...found.map(item)));
}
