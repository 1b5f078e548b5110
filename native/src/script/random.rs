//! sysbench's random functions, on the stream of a connection.

use std::collections::HashMap;

use crate::values::distribution::{Distribution, Keys};
use crate::values::mt19937::Mt19937;

/// Bounds whose constants are kept: those of pareto and zipfian take logarithms.
const MOST_KEPT: usize = 256;
/// So many characters are drawn of one random word: a digit is then biased by less than one in 100,000.
const OF_A_WORD: u32 = 4;

/// Parameters of the distributions, as the options --rand-* set them.
#[derive(Clone, Debug)]
pub struct Distributions {
    /// The one of `sysbench.rand.default`: uniform, gaussian, special, pareto or zipfian.
    pub default: String,
    pub iterations: u32,
    pub hot_width: f64,
    pub hot_share: f64,
    pub pareto_h: f64,
    pub zipfian_exponent: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Default,
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

impl Distributions {
    fn of(&self, kind: Kind) -> Distribution {
        match kind {
            Kind::Uniform => Distribution::Uniform,
            Kind::Gaussian => Distribution::Gaussian { iterations: self.iterations },
            Kind::Special => Distribution::Special {
                iterations: self.iterations,
                hot_width: self.hot_width,
                hot_share: self.hot_share,
            },
            Kind::Pareto => Distribution::Pareto { h: self.pareto_h },
            Kind::Zipfian => Distribution::Zipfian { exponent: self.zipfian_exponent },
            Kind::Default => self.of(self.kind_of_default()),
        }
    }

    fn kind_of_default(&self) -> Kind {
        match self.default.as_str() {
            "uniform" => Kind::Uniform,
            "gaussian" => Kind::Gaussian,
            "pareto" => Kind::Pareto,
            "zipfian" => Kind::Zipfian,
            _ => Kind::Special,
        }
    }
}

pub struct Randomness {
    random: Mt19937,
    distributions: Distributions,
    default: Kind,
    kept: HashMap<(Kind, i64, i64), Keys>,
    /// `unique` gives each connection numbers of its own.
    next_unique: u64,
    stride: u64,
}

impl Randomness {
    /// `connection` is one of up to `connections`.
    pub fn new(random: Mt19937, distributions: Distributions, connection: i64, connections: u64) -> Self {
        Self {
            random,
            default: distributions.kind_of_default(),
            distributions,
            kept: HashMap::new(),
            next_unique: connection.max(0) as u64,
            stride: connections.max(1),
        }
    }

    pub fn number(&mut self, kind: Kind, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let kind = if kind == Kind::Default { self.default } else { kind };
        let Self { random, distributions, kept, .. } = self;
        let drawn = if matches!(kind, Kind::Pareto | Kind::Zipfian) {
            if kept.len() >= MOST_KEPT {
                kept.clear();
            }
            let made = || Keys::new(&distributions.of(kind), low.into(), high.into());
            kept.entry((kind, low, high)).or_insert_with(made).draw(random)
        } else {
            Keys::new(&distributions.of(kind), low.into(), high.into()).draw(random)
        };
        drawn.min(high.into()) as i64
    }

    pub fn share(&mut self) -> f64 {
        self.random.random()
    }

    pub fn word(&mut self) -> u32 {
        self.random.word()
    }

    /// A number of 32 bits that no other call gives, in the load: a permutation of the numbers, by an odd factor.
    pub fn unique(&mut self) -> u32 {
        let number = self.next_unique;
        self.next_unique += self.stride;
        (number as u32).wrapping_mul(2_654_435_761) ^ 0x5bf0_3635
    }

    /// The pattern with each `#` replaced by a digit, each `@` by a letter.
    pub fn text(&mut self, pattern: &[u8], to: &mut [u8]) {
        let mut characters = Characters::of(&mut self.random);
        for (drawn, &byte) in to.iter_mut().zip(pattern) {
            *drawn = match byte {
                b'#' => b'0' + characters.below(10),
                b'@' => b'a' + characters.below(26),
                other => other,
            };
        }
    }

    /// Letters, from `shortest` to `longest` of them.
    pub fn letters(&mut self, shortest: i64, longest: i64, to: &mut Vec<u8>) {
        let size = self.number(Kind::Uniform, shortest.max(0), longest.min(1 << 24));
        let mut characters = Characters::of(&mut self.random);
        to.clear();
        to.extend((0..size).map(|_| b'a' + characters.below(26)));
    }
}

/// Small random numbers: the integral part of a word, as a fraction, times their count; the rest is the next fraction.
struct Characters<'a> {
    random: &'a mut Mt19937,
    rest: u32,
    left: u32,
}

impl<'a> Characters<'a> {
    fn of(random: &'a mut Mt19937) -> Self {
        Self { random, rest: 0, left: 0 }
    }

    fn below(&mut self, count: u8) -> u8 {
        if self.left == 0 {
            self.rest = self.random.word();
            self.left = OF_A_WORD;
        }
        self.left -= 1;
        let product = u64::from(self.rest) * u64::from(count);
        self.rest = product as u32;
        (product >> 32) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn randomness(connection: i64) -> Randomness {
        let distributions = Distributions {
            default: "special".into(),
            iterations: 12,
            hot_width: 0.01,
            hot_share: 0.75,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        };
        Randomness::new(Mt19937::from_key(&[7]), distributions, connection, 3)
    }

    #[test]
    fn each_distribution_keeps_its_bounds_and_its_shape() {
        let mut random = randomness(0);
        for (kind, within_hot) in [
            (Kind::Default, 0.6..0.85),
            (Kind::Special, 0.6..0.85),
            (Kind::Uniform, 0.005..0.04),
            (Kind::Gaussian, 0.02..0.2),
        ] {
            let drawn: Vec<i64> = (0..4_000).map(|_| random.number(kind, 1, 1_000)).collect();
            assert!(drawn.iter().all(|number| (1..=1_000).contains(number)), "{kind:?}");
            let hot = drawn.iter().filter(|number| (491..=510).contains(*number)).count() as f64 / 4_000.0;
            assert!(within_hot.contains(&hot), "{kind:?}: {hot}");
        }
    }

    #[test]
    fn skewed_numbers_follow_the_formulas() {
        // pareto: n * u^(ln h / ln(1 - h)); zipfian: the probability of k is proportional to k^-exponent.
        let weight = |last: u32| (1..=last).map(|k| f64::from(k).powf(-0.8)).sum::<f64>();
        let pareto = |last: u32| (f64::from(last) / 1_000.0).powf(0.8f64.ln() / 0.2f64.ln());
        let mut random = randomness(0);
        for (kind, below) in [
            (Kind::Pareto, &pareto as &dyn Fn(u32) -> f64),
            (Kind::Zipfian, &(|last| weight(last) / weight(1_000))),
        ] {
            let drawn: Vec<i64> = (0..20_000).map(|_| random.number(kind, 1, 1_000)).collect();
            for last in [1, 3, 20, 150, 600] {
                let share =
                    drawn.iter().filter(|&&number| number <= i64::from(last)).count() as f64 / 20_000.0;
                assert!((share - below(last)).abs() < 0.015, "{kind:?} {last}: {share}, not {}", below(last));
            }
        }
    }

    #[test]
    fn unique_numbers_are_those_of_one_connection() {
        let mut seen = HashSet::new();
        for connection in 0..3 {
            let mut random = randomness(connection);
            assert!((0..5_000).all(|_| seen.insert(random.unique())));
        }
    }

    #[test]
    fn a_pattern_is_filled() {
        let mut text = b"before".to_vec();
        randomness(0).text(b"##-@@x", &mut text);
        assert!(text[..2].iter().all(u8::is_ascii_digit) && text[3..5].iter().all(u8::is_ascii_lowercase));
        assert_eq!((text[2], text[5]), (b'-', b'x'));
        randomness(0).letters(3, 3, &mut text);
        assert_eq!(text.len(), 3);
    }
}
