//! Which node should hold which of some resources of one kind: the bind slots of operators, or the partitions
//! of a queue.
//!
//! Called by `shares`; a pure function, so that all nodes with the same view make the same plan and each
//! carries out its own part of it. Invariants of a plan: of every row, and of all rows together, no node
//! has two more than another; what is held stays where it is, unless that needs it.

/// Resources that are to be spread evenly: the slots of one operator, or the partitions of one queue.
#[derive(Debug)]
pub struct SpreadRow {
    /// Decides between nodes that have equally many, so that these are not always the same ones.
    pub key: u32,
    /// Of each resource, the holder, if that is one of the nodes. All others are dealt, whether they are
    /// free already or still with a node that must give them up.
    pub holders: Vec<Option<u8>>,
    /// Of each resource, the node that gets it rather than another one if it is dealt or moved anyway. May be empty.
    pub preferred: Vec<Option<u8>>,
}

/// The plan while it is made; nodes are meant by their place in the list of nodes.
struct SpreadPlan<'a> {
    rows: &'a [SpreadRow],
    nodes: usize,
    /// Of each row, the node that has each resource.
    held: Vec<Vec<Option<usize>>>,
    /// Of each row, the node that each resource is preferably with.
    preferred: Vec<Vec<Option<usize>>>,
    /// Of each row, the node that each resource should be with; none until it is dealt.
    planned: Vec<Vec<Option<usize>>>,
    /// Of each row, how many each node has.
    counts: Vec<Vec<usize>>,
    /// How many each node has of all rows.
    totals: Vec<usize>,
}

/// The node that each resource of each row should be with. `nodes`: those that share, ascending, at least
/// one.
pub fn spread(rows: &[SpreadRow], nodes: &[u8]) -> Vec<Vec<u8>> {
    let mut plan = SpreadPlan::new(rows, nodes);
    plan.deal();
    (0..rows.len()).for_each(|row| plan.even_out(row));
    plan.even_out_totals();
    let named = |node: Option<usize>| nodes[node.unwrap_or_default()];
    let rows = plan.planned.into_iter();
    rows.map(|row| row.into_iter().map(named).collect())
        .collect()
}

// === impl SpreadPlan ===

impl<'a> SpreadPlan<'a> {
    fn new(rows: &'a [SpreadRow], nodes: &[u8]) -> Self {
        let place = |holder: Option<u8>| {
            let holder = holder?;
            nodes.iter().position(|node| *node == holder)
        };
        let places = |named: &Vec<Option<u8>>| named.iter().copied().map(place).collect();
        let mut plan = Self {
            rows,
            nodes: nodes.len(),
            held: rows.iter().map(|row| places(&row.holders)).collect(),
            preferred: rows.iter().map(|row| places(&row.preferred)).collect(),
            planned: Vec::new(),
            counts: vec![vec![0; nodes.len()]; rows.len()],
            totals: vec![0; nodes.len()],
        };
        plan.planned.clone_from(&plan.held);
        for (held, counts) in plan.held.iter().zip(&mut plan.counts) {
            for node in held.iter().copied().flatten() {
                counts[node] += 1;
                plan.totals[node] += 1;
            }
        }
        plan
    }

    /// Deals what no node has: each resource to its preferred node while that has less than its share, and
    /// the rest to the node with the fewest of its row, then of all.
    fn deal(&mut self) {
        for row in 0..self.rows.len() {
            let share = self.planned[row].len() / self.nodes;
            for at in self.undealt(row) {
                let preferred = self.preferred(row, at);
                if let Some(node) = preferred.filter(|node| self.counts[row][*node] < share) {
                    self.deal_one(row, at, node);
                }
            }
            for at in self.undealt(row) {
                let poorest = self.poorest(row);
                let fewest = self.counts[row][poorest];
                let preferred = self.preferred(row, at);
                let also_poorest = preferred.filter(|node| self.counts[row][*node] == fewest);
                self.deal_one(row, at, also_poorest.unwrap_or(poorest));
            }
        }
    }

    fn undealt(&self, row: usize) -> Vec<usize> {
        let planned = self.planned[row].iter().enumerate();
        let undealt = planned.filter(|(_, node)| node.is_none());
        undealt.map(|(at, _)| at).collect()
    }

    fn deal_one(&mut self, row: usize, at: usize, node: usize) {
        self.planned[row][at] = Some(node);
        self.counts[row][node] += 1;
        self.totals[node] += 1;
    }

    fn preferred(&self, row: usize, at: usize) -> Option<usize> {
        self.preferred[row].get(at).copied().flatten()
    }

    /// Moves resources of a row until no node has two more of them than another.
    fn even_out(&mut self, row: usize) {
        loop {
            let (from, to) = (self.richest(row), self.poorest(row));
            if self.counts[row][from] <= self.counts[row][to] + 1 {
                return;
            }
            self.shift(row, from, to);
        }
    }

    /// Moves resources until no node has two more of all rows than another. Rows stay even: of some row the
    /// richer node has one more than the poorer one, and that is the one that moves.
    fn even_out_totals(&mut self) {
        loop {
            let places = 0..self.nodes;
            let Some(from) = places.clone().rev().max_by_key(|node| self.totals[*node]) else {
                return;
            };
            let Some(to) = places.min_by_key(|node| self.totals[*node]) else {
                return;
            };
            if self.totals[from] <= self.totals[to] + 1 {
                return;
            }
            // Something that is not held yet first, then a row of which the node keeps the most.
            let row = (0..self.rows.len())
                .filter(|row| self.counts[*row][from] > self.counts[*row][to])
                .max_by_key(|row| (self.is_dealt(*row, from), self.counts[*row][from]));
            let Some(row) = row else { return };
            self.shift(row, from, to);
        }
    }

    /// Whether a node has a resource of the row only by this plan.
    fn is_dealt(&self, row: usize, node: usize) -> bool {
        let planned = self.planned[row].iter();
        let mut both = planned.zip(&self.held[row]);
        both.any(|(planned, held)| *planned == Some(node) && held.is_none())
    }

    /// Moves one resource: one that is not held yet, else one that is preferably there, or at least not here, else
    /// the last.
    fn shift(&mut self, row: usize, from: usize, to: usize) {
        let held = &self.held[row];
        let of_node = |at: &usize| self.planned[row][*at] == Some(from);
        let places = (0..held.len()).filter(of_node);
        let order = |at: &usize| {
            let preferred = self.preferred(row, *at);
            let better = (preferred == Some(to), preferred != Some(from));
            (held[*at].is_none(), better, *at)
        };
        if let Some(at) = places.max_by_key(order) {
            self.planned[row][at] = Some(to);
            self.counts[row][from] -= 1;
            self.counts[row][to] += 1;
            self.totals[from] -= 1;
            self.totals[to] += 1;
        }
    }

    fn poorest(&self, row: usize) -> usize {
        let nodes = 0..self.nodes;
        nodes
            .min_by_key(|node| self.wealth(row, *node))
            .unwrap_or_default()
    }

    fn richest(&self, row: usize) -> usize {
        let nodes = 0..self.nodes;
        nodes
            .max_by_key(|node| self.wealth(row, *node))
            .unwrap_or_default()
    }

    /// What a node has of a row and of all, and its place among nodes that have as much.
    fn wealth(&self, row: usize, node: usize) -> [usize; 3] {
        let turn = self.turn(row, node);
        [self.counts[row][node], self.totals[node], turn]
    }

    /// The place of a node in the order of this row.
    fn turn(&self, row: usize, node: usize) -> usize {
        let first = self.rows[row].key as usize % self.nodes;
        (node + self.nodes - first) % self.nodes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows of holders, and the nodes.
    fn cases() -> impl Strategy<Value = (Vec<SpreadRow>, Vec<u8>)> {
        (1usize..9).prop_flat_map(|nodes| {
            // Beyond the nodes: a holder that is none of them.
            let holder = proptest::option::of(0..=nodes as u8);
            let holders = proptest::collection::vec(holder, 0..40);
            let preferred = proptest::collection::vec(proptest::option::of(0..=nodes as u8), 0..40);
            let row = (any::<u32>(), holders, preferred).prop_map(|(key, holders, preferred)| {
                SpreadRow {
                    key,
                    holders,
                    preferred,
                }
            });
            let rows = proptest::collection::vec(row, 0..8);
            rows.prop_map(move |rows| (rows, (0..nodes as u8).collect()))
        })
    }

    fn counts<'a>(planned: impl IntoIterator<Item = &'a u8>, nodes: &[u8]) -> Vec<usize> {
        let mut counts = vec![0; nodes.len()];
        planned
            .into_iter()
            .for_each(|node| counts[usize::from(*node)] += 1);
        counts
    }

    fn is_even(counts: &[usize]) -> bool {
        let most = counts.iter().max().copied().unwrap_or_default();
        most <= counts.iter().min().copied().unwrap_or_default() + 1
    }

    fn moves(row: &SpreadRow, planned: &[u8], nodes: &[u8]) -> usize {
        let both = row.holders.iter().zip(planned);
        both.filter(|(holder, planned)| {
            holder.is_some_and(|holder| nodes.contains(&holder) && holder != **planned)
        })
        .count()
    }

    /// The fewest resources of a row that must be taken from their holders.
    fn fewest_moves(row: &SpreadRow, nodes: &[u8]) -> usize {
        let (total, n) = (row.holders.len(), nodes.len());
        let held: Vec<u8> = row.holders.iter().copied().flatten().collect();
        let mut held = counts(held.iter().filter(|holder| nodes.contains(holder)), nodes);
        // Those that have the most get the larger shares.
        held.sort_unstable_by(|a, b| b.cmp(a));
        let share = |place: usize| total / n + usize::from(place < total % n);
        let excess = |(place, held): (usize, &usize)| held.saturating_sub(share(place));
        held.iter().enumerate().map(excess).sum()
    }

    #[test]
    fn slots_and_where_they_go() {
        let row = |holders: &[i8]| SpreadRow {
            key: 0,
            holders: holders
                .iter()
                .map(|node| u8::try_from(*node).ok())
                .collect(),
            preferred: Vec::new(),
        };
        // -1: free.
        let cases: [(&[i8], &[u8], &[usize]); 8] = [
            (&[0, 0, 1, 1], &[0, 1, 2], &[2, 1, 1]),
            (&[0, 0, 0, 0], &[0, 1, 2], &[2, 1, 1]),
            (&[-1, -1, -1, -1], &[0, 1, 2], &[2, 1, 1]),
            (&[0, 1, -1, -1], &[0, 1, 2, 3], &[1, 1, 1, 1]),
            (&[2, 2], &[0, 1, 2], &[1, 0, 1]),
            (&[0], &[0, 1], &[1, 0]),
            (&[1], &[0, 1], &[0, 1]),
            (&[], &[0, 1], &[0, 0]),
        ];
        for (holders, nodes, wanted) in cases {
            let rows = [row(holders)];
            let planned = spread(&rows, nodes);
            let mut got = counts(&planned[0], nodes);
            let mut wanted = wanted.to_vec();
            assert_eq!(
                moves(&rows[0], &planned[0], nodes),
                fewest_moves(&rows[0], nodes)
            );
            if holders.len() == 1 {
                assert_eq!(got, wanted, "{holders:?}");
            }
            got.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(got, wanted, "{holders:?}");
        }
    }

    #[test]
    fn what_moves_anyway_goes_where_it_is_preferred() {
        let plan = |holders: &[Option<u8>], preferred: &[u8], nodes: &[u8]| {
            let row = SpreadRow {
                key: 3,
                holders: holders.to_vec(),
                preferred: preferred.iter().copied().map(Some).collect(),
            };
            spread(&[row], nodes).remove(0)
        };
        let (none, some) = (
            |count| vec![None; count],
            |node, count| vec![Some(node); count],
        );
        let halves = [0, 0, 0, 1, 1, 1];
        assert_eq!(plan(&none(6), &halves, &[0, 1]), halves);
        assert_eq!(
            plan(&some(0, 6), &[1, 0, 1, 0, 1, 0], &[0, 1]),
            [1, 0, 1, 0, 1, 0]
        );
        // What is held stays, and no node has more than its share.
        assert_eq!(
            plan(&[Some(1), None, None, None], &[0; 4], &[0, 1]),
            [1, 0, 0, 1]
        );
        // The larger shares, too.
        let thirds = [2, 2, 2, 1, 1, 0, 0, 0];
        assert_eq!(plan(&none(8), &thirds, &[0, 1, 2]), thirds);
        // A node that is none of them is no preference.
        assert_eq!(
            plan(&none(2), &[9, 9], &[0, 1]),
            plan(&none(2), &[], &[0, 1])
        );
    }

    proptest! {
        #[test]
        fn everything_is_even_whoever_has_what((rows, nodes) in cases()) {
            let planned = spread(&rows, &nodes);
            for (row, planned) in rows.iter().zip(&planned) {
                prop_assert_eq!(row.holders.len(), planned.len());
                prop_assert!(is_even(&counts(planned, &nodes)), "{:?}", planned);
            }
            prop_assert!(is_even(&counts(planned.iter().flatten(), &nodes)), "{:?}", planned);
        }

        /// Together with others a row may have to give up one more to each node.
        #[test]
        fn no_more_moves_than_needed((rows, nodes) in cases()) {
            for row in &rows {
                let planned = spread(std::slice::from_ref(row), &nodes);
                prop_assert_eq!(moves(row, &planned[0], &nodes), fewest_moves(row, &nodes));
            }
        }

        #[test]
        fn a_plan_that_is_carried_out_is_the_next_plan((mut rows, nodes) in cases()) {
            let planned = spread(&rows, &nodes);
            for (row, planned) in rows.iter_mut().zip(&planned) {
                row.holders = planned.iter().copied().map(Some).collect();
            }
            prop_assert_eq!(spread(&rows, &nodes), planned);
        }
    }
}
