// The sections of a comparison's page.
import { type Entry, intervals } from "../charts/intervals";
import { h, prose, table, typeset } from "../element";
import { number, range } from "../format";
import type { Run } from "../run";
import { answer, notes } from "../sections/answer";
import { environment } from "../sections/environment";
import { type Sections, section } from "../sections/section";
import type { CaseFinding, ContestData, ContestWords } from "./model";
import { rounds } from "./rounds";
import { legend, tones } from "./tones";

const outcomes = {
  holds: "every server answered every round",
  fails: "a server did not answer in some rounds",
  invalid: "the client was the limit",
  unfinished: "cut off before there was an answer",
};

/** The answer, and every figure of it in one table. */
function head({ contest, words }: ContestData): HTMLElement {
  const { outcome, contest: plan } = contest;
  const starts = plan.starts > 1 ? `, ${plan.starts} starts of all servers` : "";
  const names = contest.entrants.map((one) => one.name);
  const rows = contest.cases.map((found, i) => {
    const said = words.cases[i];
    const cells = names.map((name) => {
      const n = found.standings.findIndex((standing) => standing.name === name);
      const standing = found.standings[n];
      if (!standing) return "–";
      const figure = `${said?.figures[n]?.split(",")[0] ?? "–"} (${said?.ranks[n] ?? ""})`;
      return standing.best === 1 && standing.worst === 1 ? h("strong", {}, typeset(figure)) : typeset(figure);
    });
    return [said?.title ?? found.case, ...cells];
  });
  return answer(
    outcome,
    outcomes,
    words.headline,
    h("div", { class: "matrix" }, table("Figures and ranks", ["figure (rank)", ...names], rows, names.map((_, i) => i + 1))),
    h("p", { class: "aside" }, `Bold: the fastest for certain. A rank is a range where the intervals do not decide it. ${plan.rounds} rounds after ${plan.warm_up} to warm up${starts}, servers asked in an order drawn for each round.`),
  );
}

/** Each case: who stands where, with intervals. */
function cases({ contest, words }: ContestData): HTMLElement {
  const cards = contest.cases.map((found, i) => {
    const said = words.cases[i];
    const entries = found.standings.map(({ name, figure }, n): Entry => {
      const value = said?.figures[n]?.split(",")[0] ?? "–";
      return { name: `${said?.ranks[n] ?? ""}. ${name}`, marks: [{ estimate: figure, filled: true, value }] };
    });
    return h(
      "div",
      { class: "card" },
      h("h3", {}, said?.title ?? found.case),
      intervals(entries),
      h("p", { class: "aside" }, ...prose(said?.told_apart ?? "")),
      ratios(found),
    );
  });
  const lead = "Shorter is better. Dots are geometric means, whiskers 95 % intervals; a rank is a range where intervals do not decide it.";
  return section("cases", "Who is faster", lead, h("div", { class: "cards servers" }, ...cards));
}

/** Every two contenders of a case. */
function ratios(found: CaseFinding): HTMLElement | null {
  const rows = found.pairs.map((pair) => [
    `${pair.slower} / ${pair.faster}`,
    `${number(pair.ratio.value)}×`,
    range(pair.ratio.interval, number),
    pair.certain ? "yes" : "not distinguishable",
  ]);
  if (rows.length === 0) return null;
  const head = ["slower / faster", "ratio", "interval, all pairs together", "differ"];
  return h("details", {}, h("summary", {}, "Every pair"), table("Every pair", head, rows, [1, 2]));
}

/** Each case over its rounds. */
function overRounds({ contest, words }: ContestData): HTMLElement {
  const all = tones(contest.contest.contenders.map((one) => one.name));
  const charts = contest.cases.map((found, i) => rounds(found, words.cases[i]?.title ?? found.case, all));
  const lead = "Every round that counts. A ring is a round in which the server's garbage collector paused it.";
  return section("rounds", "Over the rounds", lead, legend(all), h("div", { class: "multiples" }, ...charts));
}

/** Servers with a setting changed, each beside the same server without. */
function changed({ contest, words }: ContestData): HTMLElement | null {
  const { contenders } = contest.contest;
  const rows = contenders.filter((one) => one.variant).flatMap((variant) => {
    const plain = contenders.find((one) => one.server === variant.server && !one.variant);
    return plain ? contest.cases.flatMap((found, i) => beforeAfter(found, words.cases[i], plain.name, variant.name)) : [];
  });
  if (rows.length === 0) return null;
  const head = ["message", "before", "", "after", "", "change"];
  const lead = "The same server with one setting changed, asked in the same rounds.";
  return section("changed", "Before and after a change", lead, table("Before and after a change", head, rows, [2, 4]));
}

/** A row, where both were asked this case. */
function beforeAfter(found: CaseFinding, said: ContestWords["cases"][number] | undefined, plain: string, variant: string): string[][] {
  const figure = (name: string) => said?.figures[found.standings.findIndex((standing) => standing.name === name)]?.split(",")[0];
  const [before, after] = [figure(plain), figure(variant)];
  const pair = found.pairs.find((one) => [one.faster, one.slower].every((name) => name === plain || name === variant));
  if (!before || !after || !pair) return [];
  const ratio = `${number(pair.ratio.value)}× (${range(pair.ratio.interval, number)})`;
  const change = pair.certain ? `${pair.faster === variant ? "faster" : "slower"}, ${ratio}` : "not distinguishable";
  return [[said?.title ?? found.case, plain, before, variant, after, change]];
}

/** Messages that were refused. */
function limits({ words }: ContestData): HTMLElement | null {
  const said = notes(words.limits);
  return said && section("limits", "Messages that are too big", "What a client may send to each server as it was set, tried with one message after the other.", said);
}

/** How sure it is. */
function caveats({ words }: ContestData): HTMLElement | null {
  const said = notes(words.caveats);
  return said && section("caveats", "How sure that is", null, said);
}

/** The servers as they ran. */
function servers({ contest, words }: ContestData): HTMLElement {
  const rows = contest.entrants.map((one, i) => {
    const said = words.entrants[i];
    return [one.name, one.version, said?.settings ?? "", said?.usage ?? "", said?.pauses ?? "–", said?.started ?? ""];
  });
  const head = ["server", "version", "settings", "used in all rounds that count", "collector's pauses", "listened after"];
  return section("servers", "The servers as they ran", "The same small application on each (apps/ of genkai's source).", table("Servers", head, rows));
}

/** The page of a comparison. */
export function comparison(data: ContestData, run: Run): Sections {
  const all = [cases(data), overRounds(data), changed(data), limits(data), caveats(data), servers(data), environment(run)];
  return { hero: head(data), answer: data.words.headline, sections: all.filter((s) => s !== null) };
}
