// A case over its rounds: a line a contender, and where its garbage collector had it stand still.
import { chart, type Figure, type Option } from "../chart";
import { line, margins, text, valueAxis } from "../charts/time";
import { h } from "../element";
import { seconds } from "../format";
import { colour } from "../theme";
import type { CaseFinding, Observed, Standing } from "./model";
import { type Tone, toneOf } from "./tones";

/** The rounds of all starts, one after the other: how many rounds the starts have together, and the place of each round. */
export function places(found: CaseFinding): Map<string, number> {
  const keys = new Set(found.standings.flatMap((standing) => standing.rounds.map(key)));
  const order = [...keys].sort((a, b) => {
    const [one, other] = [a, b].map((k) => k.split(":").map(Number));
    return (one?.[0] ?? 0) - (other?.[0] ?? 0) || (one?.[1] ?? 0) - (other?.[1] ?? 0);
  });
  return new Map(order.map((k, i) => [k, i + 1]));
}

function key(round: Observed): string {
  return `${round.start}:${round.round}`;
}

/** Points of a contender: place, milliseconds; null where it gave no answer. */
export function points(standing: Standing, at: Map<string, number>): [number, number | null][] {
  return standing.rounds.map((round) => [at.get(key(round)) ?? 0, round.figure === null ? null : round.figure * 1e3]);
}

/** The same for rounds in which its collector paused, with how long, milliseconds. */
export function pauses(standing: Standing, at: Map<string, number>): [number, number, number][] {
  const paused = standing.rounds.filter((round) => round.paused > 0 && round.figure !== null);
  return paused.map((round) => [at.get(key(round)) ?? 0, (round.figure ?? 0) * 1e3, round.paused * 1e3]);
}

const pausedName = (name: string) => `${name}, collector paused`;

function option(found: CaseFinding, all: Map<string, Tone>, width: number): Option {
  const at = places(found);
  const drawn = found.standings.flatMap((standing) => {
    const tone = toneOf(all, standing.name);
    const rounds = line(standing.name, tone.colour, tone.dash, points(standing, at), { symbol: tone.symbol, showSymbol: true });
    const marks = {
      name: pausedName(standing.name),
      type: "scatter",
      data: pauses(standing, at),
      symbol: "circle",
      symbolSize: 16,
      itemStyle: { color: "transparent", borderColor: colour(tone.colour), borderWidth: 2 },
      animation: false,
    };
    return marks.data.length > 0 ? [rounds, marks] : [rounds];
  });
  return {
    aria: { enabled: false },
    grid: { ...margins(width), top: 32, bottom: 28 },
    tooltip: { trigger: "axis", confine: true, transitionDuration: 0, backgroundColor: colour("card"), borderColor: colour("line"), formatter: tip },
    xAxis: {
      type: "value",
      min: 1,
      max: Math.max(2, at.size),
      minInterval: 1,
      axisLabel: { ...text(), hideOverlap: true },
      axisLine: { lineStyle: { color: colour("axis") } },
      splitLine: { show: false },
    },
    yAxis: valueAxis("ms", (v) => String(v)),
    series: drawn,
  };
}

interface Hovered {
  seriesName?: string;
  value?: unknown;
}

function tip(hovered: Hovered | Hovered[]): HTMLElement {
  const all = Array.isArray(hovered) ? hovered : [hovered];
  const lines = all.flatMap(({ seriesName = "", value }) => {
    if (!Array.isArray(value) || typeof value[1] !== "number") return [];
    const shown = typeof value[2] === "number" ? value[2] : value[1];
    return [h("div", {}, `${seriesName}: ${seconds(shown / 1e3)}`)];
  });
  const first = all[0]?.value;
  return h("div", { class: "tip" }, h("strong", {}, `round ${Array.isArray(first) ? String(first[0]) : ""}`), ...lines);
}

/** The chart of a case. */
export function rounds(found: CaseFinding, title: string, all: Map<string, Tone>): HTMLElement {
  const at = places(found);
  const names = found.standings.map((standing) => standing.name);
  const figure: Figure = {
    title,
    description: `The figure of each of ${at.size} rounds that count, a line for each of ${names.join(", ")}. Rings are rounds in which a garbage collector paused the server.`,
    height: () => 260,
    option: (width) => option(found, all, width),
    head: ["round", ...names, "paused"],
    rows: () =>
      [...at.keys()].map((k) => {
        const of = found.standings.map((standing) => standing.rounds.find((round) => key(round) === k));
        const paused = of.flatMap((round, i) => (round && round.paused > 0 ? [`${names[i] ?? ""} ${seconds(round.paused)}`] : []));
        const figures = of.map((round) => (round?.figure ? seconds(round.figure) : "–"));
        return [k.replace(/^1:/, ""), ...figures, paused.join(", ") || "–"];
      }),
  };
  return chart(figure);
}
