//! Key distributions: their parameters, and how keys are drawn.
//!
//! The formulas are those of `workload/values.py`, which names their sources.

use crate::values::mt19937::Mt19937;

#[derive(Clone, Debug)]
pub enum Distribution {
    Uniform,
    Gaussian { iterations: u32 },
    Special { iterations: u32, hot_width: f64, hot_share: f64 },
    Pareto { h: f64 },
    Zipfian { exponent: f64 },
}

/// Draws whole numbers by a distribution.
#[derive(Clone, Debug)]
pub struct Keys {
    low: i128,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform { keys: i128 },
    Gaussian { iterations: u32, scale: f64 },
    Special { iterations: u32, cold_below: f64, cold_scale: f64, hot_scale: f64, hot_from: f64 },
    Pareto { keys: f64, power: f64 },
    Zipfian(Zipfian),
}

impl Keys {
    /// Numbers from `low` to `high`, both included.
    pub fn new(distribution: &Distribution, low: i128, high: i128) -> Self {
        let keys = high - low + 1;
        let shape = match *distribution {
            Distribution::Uniform => Shape::Uniform { keys },
            Distribution::Gaussian { iterations } => {
                Shape::Gaussian { iterations, scale: keys as f64 / f64::from(iterations) }
            }
            Distribution::Special { iterations, hot_width, hot_share } => {
                let span = (high - low) as f64;
                Shape::Special {
                    iterations,
                    cold_below: 1.0 - hot_share,
                    cold_scale: span / f64::from(iterations),
                    hot_scale: hot_width * span + 1.0,
                    hot_from: span / 2.0 - hot_width * span / 2.0,
                }
            }
            Distribution::Pareto { h } => Shape::Pareto { keys: keys as f64, power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(keys, exponent)),
        };
        Self { low, shape }
    }

    pub fn draw(&self, random: &mut Mt19937) -> i128 {
        let above = match &self.shape {
            Shape::Uniform { keys } => random.below(*keys),
            Shape::Gaussian { iterations, scale } => (uniforms(*iterations, random) * scale) as i128,
            Shape::Special { iterations, cold_below, cold_scale, hot_scale, hot_from } => {
                let chosen = random.random();
                if chosen >= *cold_below {
                    (chosen * hot_scale + hot_from) as i128
                } else {
                    (uniforms(*iterations, random) * cold_scale) as i128
                }
            }
            Shape::Pareto { keys, power } => (keys * random.random().powf(*power)) as i128,
            Shape::Zipfian(zipfian) => zipfian.draw(random) - 1,
        };
        self.low + above
    }
}

fn uniforms(iterations: u32, random: &mut Mt19937) -> f64 {
    (0..iterations).fold(0.0, |sum, _| sum + random.random())
}

/// Rejection inversion of Hörmann and Derflinger (1996).
#[derive(Clone, Debug)]
struct Zipfian {
    count: i128,
    keys: f64,
    exponent: f64,
    top: f64,
    bottom: f64,
    shortcut: f64,
}

impl Zipfian {
    fn new(keys: i128, exponent: f64) -> Self {
        let mut made =
            Self { count: keys, keys: keys as f64, exponent, top: 0.0, bottom: 0.0, shortcut: 0.0 };
        made.top = made.hat(made.keys + 0.5);
        made.bottom = made.hat(1.5) - 1.0;
        made.shortcut = 2.0 - made.inverse(made.hat(2.5) - 2f64.powf(-exponent));
        made
    }

    fn draw(&self, random: &mut Mt19937) -> i128 {
        loop {
            let area = self.top + random.random() * (self.bottom - self.top);
            let exact = self.inverse(area);
            let rank = (exact + 0.5).trunc().max(1.0).min(self.keys);
            if rank - exact <= self.shortcut || area >= self.hat(rank + 0.5) - rank.powf(-self.exponent) {
                return (rank as i128).min(self.count);
            }
        }
    }

    /// The exponent of the integral; None where that is the logarithm.
    fn rest(&self) -> Option<f64> {
        let rest = 1.0 - self.exponent;
        (rest.abs() >= 1e-9).then_some(rest)
    }

    fn hat(&self, x: f64) -> f64 {
        self.rest().map_or_else(|| x.ln(), |rest| (x.powf(rest) - 1.0) / rest)
    }

    fn inverse(&self, area: f64) -> f64 {
        self.rest().map_or_else(|| area.exp(), |rest| (1.0 + area * rest).powf(1.0 / rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_within_their_bounds() {
        let shapes = [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 12 },
            Distribution::Special { iterations: 12, hot_width: 0.01, hot_share: 0.75 },
            Distribution::Pareto { h: 0.2 },
            Distribution::Zipfian { exponent: 0.8 },
            Distribution::Zipfian { exponent: 1.0 },
        ];
        let mut random = Mt19937::from_key(&[3]);
        for shape in shapes {
            let keys = Keys::new(&shape, 5, 104);
            assert!((0..2_000).all(|_| (5..=105).contains(&keys.draw(&mut random))), "{shape:?}");
        }
    }
}
