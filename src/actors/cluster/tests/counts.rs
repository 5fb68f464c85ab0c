//! The correction of unfinished messages by two counts.

use super::super::counts::correct;
use super::*;

#[tokio::test(start_paused = true)]
async fn caps_are_corrected_by_what_two_counts_find() {
    let pause = Duration::from_secs(3);
    let shelf = Shelf::default();
    lock(&shelf.state).found = [vec![(1, -300), (2, 7)], vec![(1, 0), (2, 9)]].into();
    let began = Instant::now();
    let took = correct(&shelf, &[1, 2], pause).await;
    assert_eq!(
        began.elapsed(),
        pause,
        "nodes had time to say what they knew"
    );
    assert_eq!(took, Ok(Duration::ZERO), "waiting is not counting");
    assert_eq!(lock(&shelf.state).corrected, [(2, 7)]);
    // Without a difference nothing is waited for.
    let took = correct(&shelf, &[1, 2], pause).await;
    assert_eq!((took, began.elapsed()), (Ok(Duration::ZERO), pause));
}
