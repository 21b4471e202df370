// Made from schemas/page.schema.json by `make schemas`. Do not edit.

/** The data inside the page. */
export type PageData = { schema: string; build?: string; title: string; started: [string, string] | null; footer: Footer; document: Document };

/** A value axis. */
export type Axis = { name: string; most: number | null; steps: number };

/** A piece of a section. */
export type Block = { block: "text"; text: string; style: Style } | { block: "link"; text: string; href: string } | { block: "notes"; items: string[]; style: Style } | { block: "heading"; text: string; level: number } | Table & { block: "table" } | { block: "facts"; facts: [string, string][] } | { block: "cards"; cards: Card[]; wide: boolean } | Drawing & { block: "drawing" } | Chart & { block: "chart" } | { block: "legend"; names: string[] } | { block: "details"; summary: string; blocks: Block[] } | { block: "multiples"; blocks: Block[] } | { block: "tabs"; name: string; tabs: Tab[] } | { block: "article"; blocks: Block[] } | { block: "tiles"; tiles: Tile[] } | { block: "columns"; columns: [string, string[]][] } | { block: "code"; label: string; lines: Line[] };

/** A small drawing with its title. */
export type Card = { title: string; blocks: Block[] };

/** A cell of a table. */
export type Cell = string | { text: string; style: Style; href?: string | null };

/** A chart with axes. */
export type Chart = { title: string; description: string; numbers: Table; plot: Plot };

/** A column. */
export type Column = { name: string; kind: Kind };

/** How a line is drawn. */
export type Dash = "solid" | "dashed" | "dotted" | "fine";

/** A report. */
export type Document = { outcome: Outcome; turned: string; headline: string; answer: Block[]; sections: Section[] };

/** A drawing without axes. */
export type Drawing = { drawing: "intervals"; entries: Entry[] } | { drawing: "effects"; margin: number; label: string; rows: Factor[] } | Tracks & { drawing: "tracks" } | { drawing: "sparks"; summary: string; last: number; broke: number | null; sparks: Spark[] } | { drawing: "rooms"; label: string; rooms: Room[]; legend: [number, string][] } | { drawing: "way"; label: string; stations: Station[] };

/** Somebody's figures. */
export type Entry = { name: string; marks: Interval[] };

/** An estimate with its 95 % interval. */
export type Estimate = { value: number; interval: Range; n: number };

/** An effect on one figure. */
export type Factor = { name: string; ratio: Estimate; call: string };

/** The foot of the page: words, a file name, words. */
export type Footer = { before: string; file: string; after: string };

/** A figure with its interval. */
export type Interval = { estimate: Estimate | null; filled: boolean; value: string };

/** What a column holds. */
export type Kind = "plain" | "prose" | "figure";

/** Log lines that say the same. */
export type Lane = { name: string; level: string; marks: LaneMark[] };

/** Log lines of one moment. */
export type LaneMark = { at: number; count: number; text: string };

/** A limit. */
export type LimitRow = { subject: string; setting: string; lifted: boolean; predicted: string; seen: string; met: boolean; near: boolean; range: [number, number] | null; at: number | null; notes: string[]; evidence: string[] };

/** A line of code. */
export type Line = { mark: Mark; text: string };

/** What a line is of a diff. */
export type Mark = "none" | "place" | "added" | "removed" | "same";

/** Does the objective hold? */
export type Outcome = "holds" | "fails" | "invalid" | "unfinished";

/** A drawing area of a time chart. */
export type Pane = { height: [number, number]; axes: Axis[]; traces: Trace[] };

/** What a chart draws. */
export type Plot = Trend & { plot: "trend" } | Steps & { plot: "steps" } | Time & { plot: "time" };

/** A range of numbers, both ends included. A point is a range with equal ends. */
export type Range = { low: number; high: number };

/** A room's score. */
export type Room = { step: number; title: string };

/** A section with its title. */
export type Section = { id: string; title: string; lead?: string | null; blocks: Block[] };

/** A contender's line. */
export type Series = { name: string; tone: number; points: ([number, number | null])[]; rings: [number, number, number][] };

/** A gauge over time. */
export type Spark = { metric: string; subject: string; name: string; words: string; points: [number, number][] };

/** A station on the way of messages. */
export type Station = { name: string; count: string; unit: string; lost?: string | null };

/** A point of [`Steps`]. */
export type StepPoint = { x: string; y: number; good: boolean; label: string | null };

/** A figure of each of a few cases. */
export type Steps = { x: string; y: string; most: number | null; points: StepPoint[] };

/** How a paragraph or a list looks on the page. */
export type Style = "plain" | "lead" | "aside" | "facts" | "formula" | "evidence" | "proved" | "likely" | "possible" | "refuted" | "strong" | "code";

/** One of several views. */
export type Tab = { label: string; remark?: string | null; blocks: Block[] };

/** A table. */
export type Table = { caption: string; columns: Column[]; rows: Cell[][]; long?: boolean; matrix?: boolean };

/** A figure with its name, and what belongs to it. */
export type Tile = { name: string; value: string; note: string };

/** Lines over time, log lines beneath. */
export type Time = { last: number; panes: Pane[]; lanes: Lane[]; mark: When | null; legend: boolean };

/** A line of a time chart. */
export type Trace = { name: string; tone: string; dash: Dash; axis: number; area: number; stepped: boolean; unit: string; points: ([number, number | null])[] };

/** Limits on an axis of clients, and others beneath. */
export type Tracks = { asked: number | null; key: TracksKey | null; rows: LimitRow[]; more: string | null; others: LimitRow[] };

/** What the signs of [`Tracks`] stand for. */
export type TracksKey = { predicted: string; seen: string; asked: string | null; beyond: string };

/** A figure from round to round. */
export type Trend = { step: string; last: number; unit: string; lines: Series[] };

/** A moment with its words. */
export type When = { at: number; words: string };
