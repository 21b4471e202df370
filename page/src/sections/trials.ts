// Every trial in one table.
import { table } from "../element";
import { number, seconds, whole } from "../format";
import type { PageData } from "../model";
import { failedShare } from "../charts/load";
import type { Run } from "../run";
import { section } from "./section";

export function trials(data: PageData, run: Run): HTMLElement | null {
  const all = data.findings.verdict.trials;
  if (all.length === 0) return null;
  const rows = all.map((t) => [
    `${t.trial} · ${data.words.purposes[t.purpose] ?? t.purpose}`,
    t.changes.map((c) => `${c.setting} ${c.to}`).join(", ") || "as it was",
    whole(t.asked),
    t.broke ? `at ${whole(t.broke.level)}` : "no",
    whole(t.finished),
    `${whole(t.failed)} (${failedShare(t.failed, t.finished)})`,
    number(t.rate),
    seconds(t.latency.p50),
    seconds(t.latency.p99),
  ]);
  const head = ["trial", "settings", run.unit, "broke", data.counted.all, "failed", "ok/s", "p50", "p99"];
  return section("trials", "All trials", "One row for each load that was run.", table("All trials", head, rows, [2, 3, 4, 5, 6, 7, 8]));
}
