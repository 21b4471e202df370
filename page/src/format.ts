// Numbers as people read them; the same rules as the sentences made in crates/report/src/figure.rs.
import type { Range } from "./model";

const nothing = "n/a";

function separated(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** An exact count: `12,345`. */
export function whole(x: number): string {
  if (!Number.isFinite(x)) return nothing;
  const text = x.toFixed(0);
  return text === "-0" ? "0" : separated(text);
}

/** A measurement with three significant digits: `0.0123`, `4.57`, `12,300`. */
export function number(x: number): string {
  if (!Number.isFinite(x)) return nothing;
  if (x === 0) return "0";
  const decimals = 2 - Math.floor(Math.log10(Math.abs(x)));
  if (decimals <= 0) {
    const unit = 10 ** -decimals;
    return separated((Math.round(x / unit) * unit).toFixed(0));
  }
  const text = x.toFixed(Math.min(decimals, 9)).replace(/\.?0+$/, "");
  return text === "-0" || text === "" ? "0" : separated(text);
}

/** A fraction as a percentage; never rounds something to nothing or nearly everything to everything. */
export function percent(fraction: number): string {
  const p = fraction * 100;
  if (p > 0 && p < 0.001) return "<0.001 %";
  if (p < 100 && p >= 99.95) return ">99.9 %";
  return `${number(p)} %`;
}

/** A time in the unit that suits it: `85 µs`, `210 ms`, `1.2 s`, `3.5 min`. */
export function seconds(s: number): string {
  const a = Math.abs(s);
  if (!Number.isFinite(a)) return nothing;
  if (a === 0) return "0 s";
  if (a < 0.9995e-3) return `${number(s * 1e6)} µs`;
  if (a < 0.9995) return `${number(s * 1e3)} ms`;
  if (a < 120) return `${number(s)} s`;
  return `${number(s / 60)} min`;
}

/** A size: `512 B`, `64 KiB`, `1 MiB`. */
export function bytes(b: number): string {
  const units: [number, string][] = [
    [1 << 30, "GiB"],
    [1 << 20, "MiB"],
    [1 << 10, "KiB"],
  ];
  const [unit, name] = units.find(([size]) => Math.abs(b) >= size) ?? [1, "B"];
  return `${number(b / unit)} ${name}`;
}

/** A range: `359–383`, or one number where both ends read alike. */
export function range(r: Range, show: (x: number) => string = whole): string {
  const [low, high] = [show(r.low), show(r.high)];
  if (low === high) return low;
  const unit = / [^ ]+$/.exec(low)?.[0];
  const negative = r.low < 0 || r.high < 0;
  if (negative) return `${low} to ${high}`.replace(/(^| )-/g, "$1−");
  return unit && high.endsWith(unit) ? `${low.slice(0, -unit.length)}–${high}` : `${low}–${high}`;
}

/** With its sign: `+290`, `−19.5`. */
export function signed(x: number, show: (x: number) => string): string {
  const text = show(Math.abs(x));
  if (/^0( |$)/.test(text)) return text;
  return x > 0 ? `+${text}` : `−${text}`;
}

/** A wall-clock instant (RFC 3339, UTC) as `21 November 2025, 11:00 UTC`; anything else as it is. */
export function date(text: string): string {
  const d = new Date(text);
  if (Number.isNaN(d.getTime())) return text;
  const day = d.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  return `${day}, ${d.toISOString().slice(11, 16)} UTC`;
}

/** A text that begins with a capital letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
