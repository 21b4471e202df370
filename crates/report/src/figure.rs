//! Numbers as people read them: thousands separated, three significant digits, with a unit.
//!
//! Counts (`1,204 lines`) keep every digit; measurements (`1,230 requests/s`) keep three.

use genkai_model::units::Range;

/// Shown for a value that is not a number (a figure that could not be computed).
const NOTHING: &str = "n/a";

/// An exact count: `12,345`.
pub fn count(n: u64) -> String {
    separated(&n.to_string())
}

/// A measurement with three significant digits: `0.0123`, `4.57`, `243`, `12,300`.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        return NOTHING.to_owned();
    }
    if x == 0.0 {
        return "0".to_owned();
    }
    let magnitude = x.abs().log10().floor() as i32;
    let decimals = 2 - magnitude;
    if decimals <= 0 {
        let unit = 10f64.powi(-decimals);
        return separated(&format!("{:.0}", (x / unit).round() * unit));
    }
    let text = format!("{x:.*}", usize::try_from(decimals.min(9)).unwrap_or(9));
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.trim_start_matches('-') == "0" { "0".to_owned() } else { separated(text) }
}

/// A number of things that are whole (users, clients), every digit: `243`, `1,919`.
pub fn whole(x: f64) -> String {
    if !x.is_finite() {
        return NOTHING.to_owned();
    }
    // Halves away from zero, as wherever users are counted: 10.5 are 11.
    let text = format!("{:.0}", x.round());
    if text == "-0" { "0".to_owned() } else { separated(&text) }
}

/// A load that something allows: whole as [`whole`], but never rounded to none: `243`, `0.333`.
pub fn level(x: f64) -> String {
    if x > 0.0 && x < 1.0 { number(x) } else { whole(x) }
}

/// A fraction as a percentage: `19.5 %`. Never rounds something to nothing or nearly everything to everything.
pub fn percent(fraction: f64) -> String {
    let p = fraction * 100.0;
    if p > 0.0 && p < 0.001 {
        return "<0.001 %".to_owned();
    }
    if (99.95..100.0).contains(&p) {
        return ">99.9 %".to_owned();
    }
    format!("{} %", number(p))
}

/// `p99`, `p99.9`; `largest` for the maximum.
pub fn quantile(q: f64) -> String {
    if q >= 1.0 { "largest".to_owned() } else { format!("p{}", number(q * 100.0)) }
}

/// A time in the unit that suits it: `85 µs`, `210 ms`, `1.2 s`, `3.5 min`.
pub fn seconds(s: f64) -> String {
    match s.abs() {
        a if !a.is_finite() => NOTHING.to_owned(),
        0.0 => "0 s".to_owned(),
        a if a < 0.9995e-3 => format!("{} µs", number(s * 1e6)),
        a if a < 0.9995 => format!("{} ms", number(s * 1e3)),
        a if a < 120.0 => format!("{} s", number(s)),
        _ => format!("{} min", number(s / 60.0)),
    }
}

/// A size: `512 B`, `64 KiB`, `1 MiB`.
pub fn bytes(b: f64) -> String {
    let (unit, name) = match b.abs() {
        a if a >= 1_073_741_824.0 => (1_073_741_824.0, "GiB"),
        a if a >= 1_048_576.0 => (1_048_576.0, "MiB"),
        a if a >= 1024.0 => (1024.0, "KiB"),
        _ => (1.0, "B"),
    };
    format!("{} {name}", number(b / unit))
}

/// A range: `359-383`, or one number where both ends read alike.
pub fn range(r: Range, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(r.low), show(r.high));
    if low == high {
        return low;
    }
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((a, unit)), Some((_, other))) if unit == other && !a.contains('-') && !high.contains('-') => {
            format!("{a}-{high}")
        }
        _ if low.contains('-') || high.contains('-') => format!("{low} to {high}"),
        _ => format!("{low}-{high}"),
    }
}

/// With its sign: `+290`, `-19.5`, `0`.
pub fn signed(x: f64, show: impl Fn(f64) -> String) -> String {
    let text = show(x);
    if x > 0.0 && !text.starts_with("0 ") && text != "0" { format!("+{text}") } else { text }
}

/// `1 line`, `1,204 lines`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Minutes and seconds of a clock: `01:23`.
pub fn clock(us: u64) -> String {
    let s = us / 1_000_000;
    format!("{:02}:{:02}", s / 60, s % 60)
}

/// Seconds or milliseconds for a whole axis, by its largest value in seconds, and how many of them a second has.
pub fn axis_unit(largest: f64) -> (&'static str, f64) {
    if largest < 2.0 { ("ms", 1e3) } else { ("s", 1.0) }
}

/// A text that begins with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// An instant (RFC 3339, UTC) as `21 November 2025, 11:00 UTC`; anything else as it is.
pub fn date(text: &str) -> String {
    let part = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse::<usize>().ok());
    let known = text.len() >= 17 && text.ends_with('Z');
    match (part(0, 4), part(5, 7), part(8, 10), text.get(11..16)) {
        (Some(year), Some(month @ 1..=12), Some(day), Some(time)) if known => {
            format!("{day} {} {year}, {time} UTC", MONTHS[month - 1])
        }
        _ => text.to_owned(),
    }
}

fn separated(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |r| ("-", r));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if let Some(f) = fraction {
        out.push('.');
        out.push_str(f);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_as_people_write() {
        let cases = [
            (number(0.0), "0"),
            (number(0.012_345), "0.0123"),
            (number(4.5678), "4.57"),
            (number(4.0), "4"),
            (number(99.96), "100"),
            (number(243.4), "243"),
            (number(12_345.6), "12,300"),
            (number(-1_234.0), "-1,230"),
            (number(f64::NAN), "n/a"),
            (whole(1_918.6), "1,919"),
            (whole(-0.2), "0"),
            (count(1_234_567), "1,234,567"),
            (percent(0.195_4), "19.5 %"),
            (percent(0.0), "0 %"),
            (percent(0.000_000_1), "<0.001 %"),
            (percent(0.999_9), ">99.9 %"),
            (percent(1.0), "100 %"),
            (seconds(0.21), "210 ms"),
            (seconds(0.000_085), "85 µs"),
            (seconds(0.999_9), "1 s"),
            (seconds(210.0), "3.5 min"),
            (bytes(1_048_576.0), "1 MiB"),
            (range(Range { low: 359.0, high: 383.0 }, whole), "359-383"),
            (range(Range { low: 0.181, high: 0.209 }, percent), "18.1-20.9 %"),
            (range(Range { low: -0.2, high: 0.1 }, percent), "-20 % to 10 %"),
            (range(Range { low: 5.0, high: 5.0 }, whole), "5"),
            (signed(290.0, number), "+290"),
            (plural(1, "line", "lines"), "1 line"),
            (clock(83_400_000), "01:23"),
            (date("2025-11-21T11:00:00Z"), "21 November 2025, 11:00 UTC"),
            (date("yesterday"), "yesterday"),
            (capital("answer"), "Answer"),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }

    proptest! {
        #[test]
        fn a_number_reads_back_within_three_digits(x in -1e12f64..1e12) {
            let back: f64 = number(x).replace(',', "").parse().unwrap();
            prop_assert!((back - x).abs() <= x.abs() * 0.005_001 + 1e-9, "{x} shown as {}", number(x));
        }
    }
}
