//! Latency histograms in the HDR layout of tuibench's `metrics`: microseconds, three significant digits.
//!
//! Buckets are counted in a vector that grows to the largest one seen, so recording is an addition.

const SUB_BUCKET_BITS: u32 = 11;

/// The index of a value's bucket; values below 2048 µs have one each.
pub fn bucket_of(value_us: u64) -> usize {
    let bits = u64::BITS - value_us.leading_zeros();
    if bits <= SUB_BUCKET_BITS {
        return value_us as usize;
    }
    let shift = bits - SUB_BUCKET_BITS;
    ((shift as usize) << (SUB_BUCKET_BITS - 1)) + (value_us >> shift) as usize
}

/// Counts by bucket, with exact count, sum, minimum and maximum in µs.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    pub count: u64,
    pub sum_us: u64,
    pub min_us: u64,
    pub max_us: u64,
}

impl Histogram {
    pub fn record(&mut self, value_us: u64) {
        let bucket = bucket_of(value_us);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.min_us = if self.count == 0 { value_us } else { self.min_us.min(value_us) };
        self.max_us = self.max_us.max(value_us);
        self.count += 1;
        self.sum_us += value_us;
    }

    /// Moves the counts of another histogram into this one; the other one keeps its memory.
    pub fn take_from(&mut self, other: &mut Histogram) {
        if other.count == 0 {
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (own, more) in self.counts.iter_mut().zip(&mut other.counts) {
            *own += std::mem::take(more);
        }
        self.min_us = if self.count == 0 { other.min_us } else { self.min_us.min(other.min_us) };
        self.max_us = self.max_us.max(other.max_us);
        self.count += other.count;
        self.sum_us += other.sum_us;
        (other.count, other.sum_us, other.min_us, other.max_us) = (0, 0, 0, 0);
    }

    /// The buckets that have counts.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|&(_, times)| times > 0)
    }

    /// The smallest value of the bucket that reaches this share of all counts; 0 when empty.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, times) in self.filled() {
            seen += times;
            if seen >= wanted {
                return lowest_in(bucket).min(self.max_us);
            }
        }
        0
    }
}

fn lowest_in(bucket: usize) -> u64 {
    let half = 1 << (SUB_BUCKET_BITS - 1);
    if bucket < 2 * half {
        return bucket as u64;
    }
    let shift = (bucket >> (SUB_BUCKET_BITS - 1)) - 1;
    ((bucket - (shift << (SUB_BUCKET_BITS - 1))) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_begins_where_the_one_before_ends() {
        for value in (0..100_000).chain([1 << 20, (1 << 40) + 12_345]) {
            let bucket = bucket_of(value);
            assert!(lowest_in(bucket) <= value && value < lowest_in(bucket + 1), "{value}");
        }
    }

    #[test]
    fn taking_from_another_moves_all_counts() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        for value in [5, 7, 3_000_000] {
            other.record(value);
        }
        one.record(6);
        one.take_from(&mut other);
        assert_eq!((one.count, one.sum_us, one.min_us, one.max_us), (4, 3_000_018, 5, 3_000_000));
        assert_eq!((other.count, other.filled().count()), (0, 0));
    }
}
