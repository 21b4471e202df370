// The data of the page of compared systems: what analysis found (schemas/comparison.schema.json), and its words. Only what is read is typed.
import type { Estimate, Head, Rewrite } from "../model";

export type Call = "better" | "worse" | "same" | "cannot_tell" | "missing";

export interface Effect {
  figure: string;
  effect: Estimate | null;
  call: Call;
}

export interface Pair {
  base: string;
  other: string;
  effects: Effect[];
}

export interface Turn {
  contender: string;
  block: number;
  control: boolean;
  counts: boolean;
  values: (number | null)[];
}

export interface ComparisonFinding {
  comparison: { contenders: { name: string }[]; base?: string; margin: number };
  blocks: number;
  subjects: { name: string; version: string; figures: { figure: string; value: Estimate | null; best: number; worst: number }[]; held: number; turns: number; rewrites?: Rewrite[] }[];
  pairs: Pair[];
  turns: Turn[];
  outcome: "holds" | "fails" | "invalid" | "unfinished";
}

export interface ComparisonWords {
  headline: string;
  claim: string | null;
  pairs: { sentence: string; sizes: string[]; intervals: string[]; calls: string[] }[];
  control: string | null;
  sure: string;
  stress: string | null;
  caveats: string[];
  figures: string[];
  subjects: { settings: string; copy?: string | null; errors: string; values: string[]; ranks: string[] }[];
}

export interface ComparisonData {
  schema: string;
  head: Head;
  notes: string[];
  comparison: ComparisonFinding;
  words: ComparisonWords;
}
