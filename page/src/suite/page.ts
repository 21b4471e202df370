// The page of an experiment of several runs: every answer with the way to its own report, the troubles, the loads in figures, the changes
// one at a time, the advice.
import { cards } from "../compare/sections";
import { h, prose, table, typeset } from "../element";
import type { Run } from "../run";
import { answer, type Outcome } from "../sections/answer";
import { environment } from "../sections/environment";
import { type Sections, section } from "../sections/section";
import type { SuiteData, Table } from "./model";

/** A table of words; every column but the first is figures where `right` says so. */
function words(caption: string, { head, rows }: Table, right: boolean): HTMLElement {
  const shown = rows.map((row) => row.map((cell) => typeset(cell)));
  return table(caption, head, shown, right ? head.map((_, i) => i).slice(1) : []);
}

/** Of comparisons and claims. */
const outcomes: Record<Outcome, string> = {
  holds: "what was asked is decided",
  fails: "not everything is decided",
  invalid: "some of this says nothing of the server",
  unfinished: "cut off before there was an answer",
};

/** The same where something was searched for as well: that it was named, or was not, comes first. */
function turned({ words: said }: SuiteData): Record<Outcome, string> {
  const missed = said.parts.some((part) => !part.named);
  return {
    ...outcomes,
    ...(said.parts.length > 0 && { holds: "every search named what is behind it" }),
    ...(missed && { fails: "not everything was named" }),
  };
}

/** Every part with its answer; its report lies beside this page. */
function parts({ words: said }: SuiteData): HTMLElement | null {
  if (said.parts.length === 0) return null;
  const rows = said.parts.map((part) => [link(part.name), part.question, typeset(part.answer), part.named ? "yes" : "no"]);
  const lead = "Each is a run of its own, in a folder beside this page.";
  return section("parts", "Every answer", lead, table("Every answer", ["part", "question", "answer", "named"], rows));
}

function link(folder: string): HTMLElement {
  return h("a", { href: `${encodeURI(folder)}/report.html` }, folder);
}

function troubles({ words: said }: SuiteData): HTMLElement | null {
  if (said.troubles.rows.length === 0) return null;
  const lead = "Each made on purpose. Where the formula puts the limit, and where it was met.";
  return section("troubles", "The troubles that people report", lead, words("Troubles", said.troubles, false));
}

function figures({ words: said }: SuiteData): HTMLElement | null {
  if (said.figures.rows.length === 0 || said.figures.head.length < 2) return null;
  const lead = "In the words of the tools that people come from. Who hangs when the load ends counts as ETIMEDOUT.";
  return section("figures", "In figures", lead, words("In figures", said.figures, true));
}

/** Changes one at a time and all together. */
function changes({ suite, words: said }: SuiteData): HTMLElement[] {
  return (suite.changes ?? []).flatMap(({ comparison }, i) => {
    const one = said.changes[i];
    if (!one) return [];
    const lead = `${one.question} Each change alone and all together, beside the system without them, in shuffled blocks.`;
    const added = h("details", {}, h("summary", {}, "In figures, all turns added up"), words("In figures", one.contenders, true));
    const how = h("p", { class: "aside" }, ...prose(one.words.sure), " ", link(one.name));
    const drawn = comparison.blocks > 1 ? [words("Each change", one.effects, false), cards(comparison, one.words), added] : [];
    return [section(one.name, "One change at a time", lead, h("p", {}, ...prose(one.headline)), ...drawn, how)];
  });
}

/** Advice, what was measured, the verdict. */
function advice({ words: said }: SuiteData): HTMLElement | null {
  if (!said.advice) return null;
  const { name, headline, table: all } = said.advice;
  const lead = "What was measured holds for that load and machine.";
  return section(name, "Advice put to the test", lead, h("p", {}, ...prose(headline)), words("Advice", all, false));
}

/** The page of an experiment of several runs. */
export function suitePage(data: SuiteData, run: Run): Sections {
  const all = [troubles(data), figures(data), ...changes(data), advice(data), parts(data), environment(run, false)];
  const more = data.words.answers.map((text) => h("p", {}, ...prose(text)));
  const hero = answer(data.outcome, turned(data), data.words.headline, ...more);
  return { hero, answer: data.words.headline, sections: all.filter((s) => s !== null) };
}
