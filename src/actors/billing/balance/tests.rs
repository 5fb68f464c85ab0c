//! Credit is never spent twice, and blocks survive lost answers.

use std::sync::Mutex as Lock;

use super::block_reclaimer::give_all;
use super::*;
use crate::store::balance::{BlockChange, BlockOrder, BlockStore};
use crate::store::{Reply, StoreError};

/// A database with one purse and the block of one node.
#[derive(Default)]
struct Shelf {
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    left: i64,
    taken: i64,
    number: i64,
    /// Results of the next orders; without one an order is executed and answered.
    fates: Vec<Fate>,
    /// Orders that have not arrived yet.
    late: Vec<BlockOrder>,
}

#[derive(Clone, Copy)]
enum Fate {
    AnswerLost,
    OrderLost,
    Late,
}

impl State {
    fn carry_out(&mut self, order: BlockOrder) -> i64 {
        if order.number > self.number {
            let amount = match order.change {
                BlockChange::Look => 0,
                BlockChange::Take { lack, floor, .. } => lack.min(self.left - floor).max(0),
                BlockChange::Give { amount } => -amount,
            };
            self.number = order.number;
            self.taken += amount;
            self.left -= amount;
        }
        self.taken
    }
}

impl BlockStore for Shelf {
    fn order_block(&self, order: BlockOrder) -> Reply<i64> {
        let mut state = self.state.lock().unwrap();
        let lost = || Reply::ready(Err(StoreError::Failed("no answer".to_owned())));
        match state.fates.pop() {
            None => Reply::ready(Ok(state.carry_out(order))),
            Some(Fate::AnswerLost) => {
                state.carry_out(order);
                lost()
            }
            Some(Fate::OrderLost) => lost(),
            Some(Fate::Late) => {
                state.late.push(order);
                lost()
            }
        }
    }
}

const BALANCE: Purse = Purse { account: 1, day: 0 };

#[test]
fn concurrent_spending_takes_what_there_is_and_no_more() {
    let held = PurseShare::default();
    held.put(1_000);
    let spent: i64 = std::thread::scope(|scope| {
        let spenders: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..1_000).filter(|_| held.spend(3, 0)).count() as i64))
            .collect();
        spenders.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!((spent, held.left()), (333, 1));
    assert!(held.spend(1, 0) && !held.spend(1, 0));
    held.put(-5);
    assert!(held.spend(0, -5), "what costs nothing needs no cover");
    assert!(held.spend(10, -15) && !held.spend(1, -15), "a quota");
}

#[tokio::test(start_paused = true)]
async fn blocks_are_taken_and_given_back() {
    let shelf = Shelf::default();
    shelf.state.lock().unwrap().left = 10;
    let held = PurseShare::default();
    held.ensure(&shelf, BALANCE, 4, 0).await.unwrap();
    assert_eq!(held.left(), 4);
    assert!(held.spend(3, 0));
    held.ensure(&shelf, BALANCE, 20, 0).await.unwrap();
    assert_eq!(held.left(), 7, "all there was");
    // For a moment the database is not asked again.
    shelf.state.lock().unwrap().left = 5;
    held.ensure(&shelf, BALANCE, 8, 0).await.unwrap();
    assert_eq!(held.left(), 7);
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    held.ensure(&shelf, BALANCE, 8, 0).await.unwrap();
    assert_eq!(held.left(), 8);
    held.give(&shelf, BALANCE, 2).await.unwrap();
    assert_eq!(held.left(), 2);
    let state = shelf.state.lock().unwrap();
    assert_eq!((state.left, state.taken), (10, 5));
}

/// A database that does not answer about one account, or not at all, and does what it is told about others.
struct Stuck {
    account: u32,
    is_away: bool,
    /// Accounts about which it was asked.
    asked: Lock<Vec<u32>>,
    waiting: Lock<Vec<tokio::sync::oneshot::Sender<Result<i64, StoreError>>>>,
}

impl BlockStore for Stuck {
    fn order_block(&self, order: BlockOrder) -> Reply<i64> {
        self.asked.lock().unwrap().push(order.purse.account);
        if self.is_away {
            return Reply::ready(Err(StoreError::Failed("no answer".to_owned())));
        }
        if order.purse.account != self.account {
            return Reply::ready(Ok(0));
        }
        let (answer, reply) = Reply::pair();
        self.waiting.lock().unwrap().push(answer);
        reply
    }
}

fn unused(accounts: std::ops::Range<u32>) -> Vec<(Purse, Arc<PurseShare>, i64)> {
    let purses = accounts.map(|account| Purse { account, day: 0 });
    purses
        .map(|purse| {
            let held = PurseShare::default();
            held.put(5);
            (purse, Arc::new(held), 0)
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_purse_that_is_stuck_keeps_no_other_from_being_given_back() {
    let stuck = Stuck {
        account: 1,
        is_away: false,
        asked: Lock::default(),
        waiting: Lock::default(),
    };
    let unused = unused(1..6);
    let gives = give_all(&stuck, &unused);
    tokio::pin!(gives);
    assert!(futures_util::poll!(&mut gives).is_pending());
    assert_eq!(*stuck.asked.lock().unwrap(), [1, 2, 3, 4, 5]);
    let answer = stuck.waiting.lock().unwrap().pop().expect("asked");
    let failed = StoreError::Failed("its row is locked".to_owned());
    answer.send(Err(failed.clone())).expect("it is waited for");
    assert_eq!(gives.await, Err(failed));
}

#[tokio::test(start_paused = true)]
async fn what_is_unused_stays_while_the_database_is_away() {
    let away = Stuck {
        account: 0,
        is_away: true,
        asked: Lock::default(),
        waiting: Lock::default(),
    };
    let unused = unused(1..100);
    assert!(give_all(&away, &unused).await.is_err());
    assert!(away.asked.lock().unwrap().len() < 10);
}

/// With any loss of orders and answers, this node never holds more than was taken less what was spent,
/// and exactly that once an answer has arrived.
#[tokio::test(start_paused = true)]
async fn lost_answers_make_no_credits() {
    for fate in [Fate::AnswerLost, Fate::OrderLost, Fate::Late] {
        for second in [None, Some(Fate::AnswerLost), Some(Fate::OrderLost)] {
            let shelf = Shelf::default();
            shelf.state.lock().unwrap().left = 100;
            let held = PurseShare::default();
            let mut spent = 0;
            held.ensure(&shelf, BALANCE, 10, 0).await.unwrap();
            for giving in [false, true] {
                let fates = second.into_iter().chain([fate]).collect();
                shelf.state.lock().unwrap().fates = fates;
                for _ in 0..3 {
                    let _ = if giving {
                        held.give(&shelf, BALANCE, 3).await
                    } else {
                        held.ensure(&shelf, BALANCE, 20, 0).await
                    };
                    spent += i64::from(held.spend(2, 0)) * 2;
                    let taken = shelf.state.lock().unwrap().taken;
                    assert!(held.left() <= taken - spent, "credits out of nothing");
                    tokio::time::advance(std::time::Duration::from_secs(1)).await;
                }
                // Delayed orders arrive after a newer one.
                let mut state = shelf.state.lock().unwrap();
                for order in std::mem::take(&mut state.late) {
                    state.carry_out(order);
                }
                assert!(state.fates.is_empty());
                assert_eq!(held.left(), state.taken - spent);
                assert_eq!(state.left + held.left() + spent, 100);
            }
        }
    }
}
