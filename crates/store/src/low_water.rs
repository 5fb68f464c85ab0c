//! Computes the new low-water mark of the embedded store, a slice at a time.
//!
//! Called by its upkeep. Guarantees that a restart reads little more than what is active, however much
//! that is: what is active in a sparse range is carried, a dense one is read in a row.

/// Messages of a slice; it is read at once, so that no snapshot lasts for long.
pub const SLICE: usize = 65_536;
/// What reading one carried message costs at a restart, in messages read in a row.
const CARRY_COST: usize = 8;

/// A range of ids that starts where the one before ends.
#[derive(Debug, Clone, Copy)]
pub struct IdSlice {
    /// Without it.
    pub end: u64,
    pub messages: usize,
    pub active: usize,
}

/// How many slices the mark passes, so that the sum of carried messages and of rows still read is
/// minimal. A dense backlog stays above the mark, a sparse one is carried.
pub fn best(slices: &[IdSlice]) -> usize {
    let mut in_a_row: usize = slices.iter().map(|slice| slice.messages).sum();
    let (mut passed, mut least, mut carried) = (0, in_a_row, 0);
    for (index, slice) in slices.iter().enumerate() {
        carried += slice.active;
        in_a_row -= slice.messages;
        let cost = in_a_row + CARRY_COST * carried;
        if cost <= least {
            (passed, least) = (index + 1, cost);
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::{IdSlice, best};

    fn slices(actives: &[usize]) -> Vec<IdSlice> {
        let slice = |(index, active): (usize, &usize)| IdSlice {
            end: index as u64 + 1,
            messages: 1000,
            active: *active,
        };
        actives.iter().enumerate().map(slice).collect()
    }

    #[test]
    fn the_mark_passes_what_is_cheaper_to_carry() {
        assert_eq!(best(&slices(&[])), 0);
        assert_eq!(best(&slices(&[0, 0])), 2, "nothing active");
        assert_eq!(best(&slices(&[0, 1000])), 1, "the tail is in flight");
        assert_eq!(best(&slices(&[1000, 1000])), 0, "a dense backlog");
        assert_eq!(
            best(&slices(&[1000, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            10,
            "an old backlog"
        );
    }
}
