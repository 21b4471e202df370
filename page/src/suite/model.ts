// The data of the page of an experiment of several runs: what analysis found (schemas/apache-websocket.schema.json), and its words. Only
// what is read is typed.
import type { ComparisonFinding, ComparisonWords } from "../compare/model";
import type { Head } from "../model";
import type { Outcome } from "../sections/answer";

export interface SuiteFinding {
  title: string;
  changes?: { name: string; comparison: ComparisonFinding }[];
  advice?: { claims: { claim: { name: string } }[] };
}

export interface Table {
  head: string[];
  rows: string[][];
}

export interface SuiteWords {
  headline: string;
  answers: string[];
  parts: { name: string; question: string; answer: string; named: boolean }[];
  troubles: Table;
  figures: Table;
  changes: { name: string; question: string; headline: string; effects: Table; contenders: Table; words: ComparisonWords }[];
  advice: { name: string; headline: string; table: Table } | null;
}

export interface SuiteData {
  schema: string;
  head: Head;
  notes: string[];
  /** What all of it comes to. */
  outcome: Outcome;
  suite: SuiteFinding;
  words: SuiteWords;
}
