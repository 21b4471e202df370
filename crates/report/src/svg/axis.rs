//! Scales and round tick marks.

/// A linear scale from a range of values to a range of pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Smallest value shown.
    pub(super) from: f64,
    /// Largest value shown.
    pub(super) to: f64,
    /// Pixel of `from`.
    pub(super) start: f64,
    /// Pixel of `to`.
    pub(super) end: f64,
}

impl Scale {
    /// Pixel of a value; values outside are kept at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if value.is_finite() { value.clamp(self.from, self.to) } else { self.from };
        self.start + (value - self.from) / (self.to - self.from) * (self.end - self.start)
    }
}

/// Round marks from zero to at least `largest`: about `wanted` steps of 1, 2 or 5 times a power of ten.
pub(super) fn marks(largest: f64, wanted: u32) -> Vec<f64> {
    let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
    let rough = largest / f64::from(wanted.max(1));
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= rough * 0.999_999).unwrap_or(power * 10.0);
    let steps = (largest / step - 1e-9).ceil().max(1.0) as u32;
    (0..=steps).map(|i| f64::from(i) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_are_round() {
        assert_eq!(marks(1180.0, 5), [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(marks(0.0, 5).last(), Some(&1.0));
        assert_eq!(marks(35.0, 7), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]);
    }

    proptest! {
        #[test]
        fn marks_cover_and_stay_few(largest in 1e-6f64..1e12, wanted in 1u32..12) {
            let m = marks(largest, wanted);
            prop_assert!(*m.last().unwrap() >= largest * 0.999_999);
            prop_assert!(m.len() as u32 <= wanted + 2);
        }
    }
}
