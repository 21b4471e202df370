// Where and how it ran: machine, versions, command line, and how the private copy differs from the user's files.
import { h, prose, table } from "../element";
import { bytes, date, whole } from "../format";
import type { Head, Rewrite } from "../model";
import type { Run } from "../run";
import { section } from "./section";

/** A comparison of servers asks them in its own ways, not by the plan's request. */
function isContest(head: Head): boolean {
  return typeof head.plan.study === "object" && "contest" in head.plan.study;
}

function facts(head: Head, one: boolean): [string, string][] {
  const e = head.environment;
  const cores = (list: number[]) => `${list.length === 1 ? "core" : "cores"} ${list.join(", ")}`;
  const pinning = e.pinning ? `servers on ${cores(e.pinning.servers)}, generator on ${cores(e.pinning.client)}` : "servers and generator share all cores";
  const load = head.plan.load;
  const versions: [string, string][] = [["Versions", Object.entries(e.versions).map(([name, version]) => `${name} ${version}`).join(", ") || "none recorded"]];
  const asked: [string, string][] = [
    ["Must hold", head.plan.objective],
    ["Request", `${load.request.method} ${load.request.path} (Host: ${load.request.host}), timeout ${load.timeout}`],
    ["Connections", load.reuse === "keep_alive" ? "kept alive" : "a new one for each request"],
    ...versions,
  ];
  return [
    ["Started", date(head.started)],
    ...(isContest(head) ? [] : one ? asked : versions),
    ["System", `${e.os}, ${e.kernel}`],
    ["Processor", `${e.cpu}, ${e.cores} ${e.cores === 1 ? "core" : "cores"}; ${pinning}`],
    ["Memory", bytes(e.memory)],
    ["Limits", `${whole(e.descriptors)} descriptors, local ports ${e.ports[0]}–${e.ports[1]}, somaxconn ${whole(e.somaxconn)}`],
  ];
}

/** The command line as one would type it. */
export function shell(command: string[]): string {
  return command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** What a private copy differs in from the user's files. */
export function rewritten(rewrites: Rewrite[]): HTMLElement {
  const rows = rewrites.map((r) => [h("code", {}, r.place), h("code", {}, r.from), h("code", {}, r.to)]);
  return table("Changed in the private copy", ["place", "yours", "as it ran"], rows);
}

/** Where and how it ran; `one` is whether there is one load of which to tell what was asked. */
export function environment(run: Run, one = true): HTMLElement | null {
  const head = run.head;
  if (!head) return null;
  return section(
    "environment",
    "Environment",
    "What is needed to judge the figures, and to run it again.",
    h("pre", { class: "code", tabindex: 0, "aria-label": "Command line" }, shell(head.command)),
    h("dl", { class: "facts-list" }, ...facts(head, one).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    run.notes.length > 0 ? h("ul", { class: "notes" }, ...run.notes.map((n) => h("li", {}, ...prose(n)))) : null,
    head.rewrites.length > 0 ? h("h3", {}, "Changed in the private copy, so that it runs beside the real one") : null,
    head.rewrites.length > 0 ? rewritten(head.rewrites) : null,
  );
}
