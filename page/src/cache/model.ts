// The data of a page about caches: what analysis found (schemas/reverse-proxy-cache.schema.json), and its words. Only what is read is
// typed.
import type { Estimate, Head } from "../model";

export interface Cost {
  cpu: number;
  origin_cpu: number;
  read: number | null;
  written: number | null;
  memory: number;
  page_cache: number | null;
}

export interface CacheStanding {
  name: string;
  rate: Estimate | null;
  best: number;
  worst: number;
  cost: Cost;
}

export interface PassFinding {
  warmth: "cold" | "warm";
  standings: CacheStanding[];
  pairs: Pair[];
  stressed: boolean;
}

export interface Pair {
  faster: string;
  slower: string;
  ratio: Estimate;
  certain: boolean;
  more?: number;
}

/** The highest rates that contenders hold, over rounds. */
export interface RateFinding {
  warmth: "cold" | "warm";
  standings: { name: string; rate: Estimate | null }[];
  pairs: Pair[];
}

export interface CacheFinding {
  participants: { name: string; version: string; store: string }[];
  passes: PassFinding[];
  held: RateFinding[];
  objective: string;
  outcome: "holds" | "fails" | "invalid" | "unfinished";
}

export interface CacheWords {
  headline: string;
  answers: string[];
  troubles: string[];
  caveats: string[];
  budget: string;
  passes: { title: string; rows: string[][] }[];
  columns: string[];
  rates: string[];
  held: string[][];
  rules: { head: string[]; rows: string[][] };
  settings: string[];
  limits: (string | null)[];
}

export interface CacheData {
  schema: string;
  head: Head;
  notes: string[];
  cache: CacheFinding;
  words: CacheWords;
}
