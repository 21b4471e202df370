// One run, read from its events in order: the same whether they come from a finished record or arrive one by one.
import type { Change, Event, Head, Load, LogLine, PageData, Point, Sample, State } from "./model";

/** Something with its time, in seconds since the load of its trial began. */
export type At<T> = T & { at: number };

export interface Trial {
  number: number;
  began_us: number;
  purpose: string;
  changes: Change[];
  load: Load;
  points: Point[];
  samples: At<Sample>[];
  logs: At<LogLine>[];
  states: At<State>[];
  ended: { reason: string; lasted: string; abandoned: number } | null;
}

export class Run {
  head: Head | null = null;
  trials: Trial[] = [];
  notes: string[] = [];
  end: { interrupted: boolean; failure: string | null; diff: string } | null = null;

  static of(data: PageData): Run {
    const run = new Run();
    for (const event of data.events) run.push(event);
    // Findings carry what ticks cannot here: the percentiles of each interval.
    for (const series of data.findings.series) {
      const trial = run.trials.find((t) => t.number === series.trial);
      if (trial) trial.points = series.points;
    }
    return run;
  }

  /** A run of which only the head is told. */
  static headed(head: Head, notes: string[]): Run {
    const run = new Run();
    [run.head, run.notes] = [head, notes];
    return run;
  }

  /** Takes the next event. */
  push(event: Event): void {
    if (event.event === "run_started") this.head = event;
    else if (event.event === "note") this.notes.push(event.text);
    else if (event.event === "run_ended") this.end = event;
    else if (event.event === "trial_started") {
      const { purpose, changes, load } = event;
      const number = event.trial ?? this.trials.length + 1;
      const empty = { points: [], samples: [], logs: [], states: [], ended: null };
      this.trials.push({ number, began_us: event.at_us, purpose, changes, load, ...empty });
    } else {
      const trial = this.trials.find((t) => t.number === event.trial);
      if (trial) put(trial, event);
    }
  }

  /** Whether the load is users rather than a rate. */
  get closed(): boolean {
    return this.head?.plan.load.arrivals.model !== "rate";
  }

  /** Unit of the load. */
  get unit(): string {
    return this.closed ? "users" : "planned requests/s";
  }

  /** The load asked for, in that unit. */
  get asked(): number | null {
    const arrivals = this.head?.plan.load.arrivals;
    return arrivals?.count ?? arrivals?.per_second ?? null;
  }
}

function put(trial: Trial, event: Event): void {
  const at = (event.at_us - trial.began_us) / 1e6;
  if (event.event === "sample") trial.samples.push({ ...event, at });
  else if (event.event === "log") trial.logs.push({ ...event, at });
  else if (event.event === "state") trial.states.push({ ...event, at });
  else if (event.event === "trial_ended") trial.ended = event;
  else if (event.event === "tick") {
    const span = (event.to_us - event.from_us) / 1e6;
    const failed = event.errors.reduce((sum, e) => sum + e.count, 0);
    trial.points.push({
      at: (event.from_us + event.to_us) / 2e6,
      level: event.level,
      in_flight: event.in_flight,
      ok: span > 0 ? event.ok / span : 0,
      failed: span > 0 ? failed / span : 0,
      p50: null,
      p90: null,
      p99: null,
    });
  }
}

/** Trials with the one to look at first in front: the first that broke, else the first. */
export function inOrder(trials: Trial[], data: PageData): Trial[] {
  const broke = data.findings.verdict.trials.find((t) => t.broke)?.trial;
  const first = trials.find((t) => t.number === broke);
  return first ? [first, ...trials.filter((t) => t !== first)] : trials;
}

/** A kind of log line in a trial. */
export interface Lane {
  key: string;
  name: string;
  text: string;
  level: string;
  count: number;
  first: number;
  last: number;
  marks: { at: number; count: number; text: string }[];
}

/** What a log line says, without the time, severity, process and connection written before it. */
export function message(text: string): string {
  const stamps = /^(?:\s*(?:\[[^\]]*\]|\d{4}-\d\d-\d\d[\d:.,TZ+-]*|(?=\S*\d)[\d/:.,#*TZ+-]*[/:#*][\d/:.,#*TZ+-]*)(?=\s|$))+\s*/;
  return text.replace(stamps, "") || text;
}

const loudest = ["emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"];

/** Log lines by what they say, the most severe first; at most `most` kinds, the others together in the last. */
export function lanes(logs: At<LogLine>[], most = 6): Lane[] {
  const all = new Map<string, Lane>();
  for (const line of logs) {
    const key = line.signature ?? `${line.subject} ${line.level} ${line.text.replace(/\d+/g, "#")}`;
    const name = `${line.subject} ${line.level}`;
    const lane = all.get(key) ?? { key, name, text: message(line.text), level: line.level, count: 0, first: line.at, last: line.at, marks: [] };
    lane.count += line.count;
    lane.last = line.at;
    lane.marks.push({ at: line.at, count: line.count, text: message(line.text) });
    all.set(key, lane);
  }
  const rank = (l: Lane) => (loudest.indexOf(l.level) + loudest.length + 1) % (loudest.length + 1);
  const sorted = [...all.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count);
  if (sorted.length <= most) return sorted;
  const rest = sorted.slice(most - 1);
  const marks = rest.flatMap((l) => l.marks).sort((a, b) => a.at - b.at);
  const count = rest.reduce((sum, l) => sum + l.count, 0);
  const text = `${rest.length} other kinds of lines`;
  const span = { first: marks[0]?.at ?? 0, last: marks.at(-1)?.at ?? 0 };
  return [...sorted.slice(0, most - 1), { key: "others", name: "others", text, level: "", count, ...span, marks }];
}

/** A gauge or counter over a trial. */
export interface Gauge {
  name: string;
  points: [number, number][];
  low: number;
  high: number;
  last: number;
}

/** Every metric of a trial over time, by name; those that never moved from nothing are left out. */
export function gauges(trial: Trial): Gauge[] {
  const all = new Map<string, [number, number][]>();
  for (const sample of trial.samples) {
    for (const [name, value] of Object.entries(sample.metrics)) {
      const points = all.get(name) ?? [];
      points.push([sample.at, value]);
      all.set(name, points);
    }
  }
  const made = [...all].map(([name, points]) => {
    const values = points.map((p) => p[1]);
    return { name, points, low: Math.min(...values), high: Math.max(...values), last: values.at(-1) ?? 0 };
  });
  return made.filter((g) => g.low !== 0 || g.high !== 0).sort((a, b) => a.name.localeCompare(b.name));
}
