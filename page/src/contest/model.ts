// The data of a comparison's page: what analysis found (schemas/contest.schema.json), and its words. Only what is read is typed.
import type { Estimate, Head } from "../model";

export interface Observed {
  start: number;
  round: number;
  figure: number | null;
  paused: number;
}

export interface Standing {
  name: string;
  figure: Estimate | null;
  best: number;
  worst: number;
  rounds: Observed[];
  failed: number;
}

export interface Pair {
  faster: string;
  slower: string;
  ratio: Estimate;
  certain: boolean;
}

export interface CaseFinding {
  case: string;
  standings: Standing[];
  pairs: Pair[];
}

export interface Entrant {
  name: string;
  version: string;
}

export interface ContestFinding {
  contest: { contenders: { name: string; server: string; variant?: boolean }[]; clients: number; rounds: number; warm_up: number; starts: number };
  entrants: Entrant[];
  cases: CaseFinding[];
  outcome: "holds" | "fails" | "invalid" | "unfinished";
}

export interface ContestWords {
  headline: string;
  limits: string[];
  caveats: string[];
  cases: { title: string; told_apart: string; ranks: string[]; figures: string[] }[];
  entrants: { settings: string; usage: string; pauses: string | null; started: string }[];
}

export interface ContestData {
  schema: string;
  head: Head;
  notes: string[];
  contest: ContestFinding;
  words: ContestWords;
}
