// Numbers beside axes and pointers; the same rules as in the sentences (crates/report/src/figure.rs).

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
