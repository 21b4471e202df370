// The data inside the page: a run's events (schemas/run.schema.json), what analysis found, and its words.
// Only what the page reads is typed.

export interface Range {
  low: number;
  high: number;
}

export interface Change {
  product: string;
  setting: string;
  from: string;
  to: string;
}

export interface ErrorCount {
  kind: string;
  count: number;
}

export interface Arrivals {
  model: "users" | "rate";
  count?: number;
  per_second?: number;
}

export interface Load {
  request: { method: string; path: string; host: string };
  arrivals: Arrivals;
  reuse: string;
  timeout: string;
  threads: number;
}

export interface Environment {
  kernel: string;
  os: string;
  cpu: string;
  cores: number;
  memory: number;
  descriptors: number;
  ports: [number, number];
  somaxconn: number;
  versions: Record<string, string>;
  pinning: { servers: number[]; client: number[] } | null;
}

export interface Rewrite {
  place: string;
  from: string;
  to: string;
}

export interface Head {
  schema: string;
  version: string;
  started: string;
  command: string[];
  environment: Environment;
  plan: { title: string; system: { product: string }; load: Load; objective: string; study: string | Record<string, unknown> };
  rewrites: Rewrite[];
}

export interface Tick {
  from_us: number;
  to_us: number;
  level: number;
  in_flight: number;
  ok: number;
  errors: ErrorCount[];
}

export interface LogLine {
  subject: string;
  level: string;
  text: string;
  signature: string | null;
  count: number;
}

export interface Sample {
  subject: string;
  metrics: Record<string, number>;
}

export interface State {
  subject: string;
  state: string;
  detail: string | null;
}

export type Event = { at_us: number; trial?: number } & (
  | ({ event: "run_started" } & Head)
  | { event: "step"; purpose: string; changes: Change[]; limit: string | null }
  | { event: "limits" }
  | { event: "trial_started"; purpose: string; changes: Change[]; limit: string | null; load: Load }
  | ({ event: "tick" } & Tick)
  | ({ event: "sample" } & Sample)
  | ({ event: "log" } & LogLine)
  | ({ event: "state" } & State)
  | { event: "trial_ended"; reason: string; lasted: string; abandoned: number }
  | { event: "note"; id: string; text: string }
  | { event: "run_ended"; interrupted: boolean; failure: string | null; diff: string }
);

export interface Quantiles {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface Break {
  at: number;
  level: number;
  in_flight: number;
  condition: string;
  errors: ErrorCount[];
}

export interface Predicted {
  limit: string;
  subject: string;
  setting: string;
  value: string;
  clients: Range | null;
  users: Range | null;
  rate: Range | null;
  bytes: number | null;
  formula: string;
  observed: number | null;
  within_load: boolean;
  /** Does not matter for this load. */
  far: boolean;
}

export interface Estimate {
  value: number;
  interval: Range;
  n: number;
}

export interface Proof {
  order: string;
  pairs: number;
  failed_before: Estimate;
  failed_after: Estimate;
  failed_difference: Estimate;
  rate: [Estimate, Estimate, Estimate];
  p99: [Estimate, Estimate, Estimate];
  failures: [number, number];
  finished: [number, number];
  judged: { condition: string; figures: [Estimate, Estimate, Estimate] } | null;
  certain: boolean;
}

export interface TrialFinding {
  trial: number;
  purpose: string;
  changes: Change[];
  asked: number;
  lasted: number;
  finished: number;
  failed: number;
  errors: ErrorCount[];
  rate: number;
  latency: Quantiles;
  broke: Break | null;
}

export interface Cause {
  limit: { subject: string; setting: string; value: string };
  predicted: Predicted;
  broke: Break;
  confidence: "possible" | "likely" | "proved" | "refuted";
  counterfactual: { change: Change; predicted: Range | null; scale: "clients" | "level"; observed: Break | null; held_to: number; moved: string } | null;
}

export interface Verdict {
  outcome: "holds" | "fails" | "invalid" | "unfinished";
  must_change: "yes" | "no" | "cannot_tell";
  because: string;
  proposal: { change: Change; minimum: string; holds_for: Range | null }[];
  causes: Cause[];
  next: Predicted | null;
  predictions: Predicted[];
  trials: TrialFinding[];
  proof: Proof | null;
  caveats: { caveat: string; limit?: string }[];
}

export interface Point {
  at: number;
  level: number;
  in_flight: number;
  ok: number;
  failed: number;
  p50: number | null;
  p90: number | null;
  p99: number | null;
}

export interface Sentence {
  about: "answer" | "broke" | "test" | "proof" | "held" | "next" | "sure" | "caveat";
  text: string;
}

export interface CauseSaid {
  title: string;
  formula: string;
  broke: string;
  confidence: string;
  evidence: string[];
  counterfactual: string | null;
  others: { name: string; why: string; evidence: string[] }[];
}

export interface Words {
  errors: Record<string, string>;
  purposes: Record<string, string>;
  outcomes: Record<string, string>;
  ends: Record<string, string>;
  states: Record<string, string>;
}

export interface Moment {
  at: number;
  connections: number;
  sent: number;
  heard: number;
  lost: number;
  p99: number | null;
}

export interface RouterReport {
  product: string;
  nodes?: { node: number; peak: number; limit?: number; connect_errors: number }[];
}

export interface RoomsRun {
  trial: number;
  nodes: number;
  score: number;
  planned: number;
  sent: number;
  delivered: number;
  lost: number;
  duplicated: number;
  reordered: number;
  foreign: number;
  rooms: number[];
  full: number;
  entered: number;
  never_entered: number;
  cuts: unknown[];
  latency: Quantiles;
  lasted: number;
  over?: Moment[];
  router?: RouterReport;
}

/** A station on the way of messages, with what was lost before or in it. */
export interface Station {
  name: string;
  count: number;
  unit: string;
  lost: { count: number; place: string }[];
}

/** A run in words. */
export interface RoomsSaid {
  trial: number;
  title: string;
  score: string;
  entries: string;
  generator: string;
  router: string | null;
  refused: string;
  way: string;
  stations: Station[];
  missing: { count: number; place: string }[];
}

export interface RoomsData {
  finding: { runs: RoomsRun[]; smallest_full?: number; outcome: Verdict["outcome"] };
  /** The answer first. */
  said: string[];
  runs: RoomsSaid[];
}

export interface HeldTrial {
  trial: number;
  requests: number;
  at_once: number;
  answered: number;
  refused: ErrorCount[];
}

export interface HeldData {
  finding: { nodes: number; time: string; trials: HeldTrial[]; largest?: number; refused_from?: number; outcome: Verdict["outcome"] };
  /** The answer first. */
  said: string[];
  trials: { trial: number; refused: string; told: string }[];
  limits: { title: string; caps: string; formula: string; source: string; evidence: string[] }[];
}

/** What the load counts, in words. */
export interface CountedWords {
  /** `requests`, `messages`, `openings`. */
  all: string;
  /** What failed: `failed requests`, `failed openings`, `lost messages`. */
  failed: string;
}

export interface PageData {
  counted: CountedWords;
  /** Requests held open, where the run is a search for their largest number. */
  held?: HeldData;
  /** Chat rooms, where the run is one of them. */
  rooms?: RoomsData;
  schema: string;
  events: Event[];
  findings: { verdict: Verdict; series: { trial: number; points: Point[] }[] };
  said: Sentence[];
  causes: CauseSaid[];
  words: Words;
  metrics: Record<string, string>;
}
