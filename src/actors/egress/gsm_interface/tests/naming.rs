//! Another program has our name at the HLR.

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

async fn impatient() -> Fixture {
    fixture_with(true, |gsm| {
        gsm.window = 1;
        gsm.ping_timeout = PATIENCE;
        gsm.reconnect = vec![MOMENT];
        gsm.request_timeout = PATIENCE;
    })
    .await
}

impl Fixture {
    fn connection(&self) -> BindSnapshot {
        let binds = self.node.context.binds.all();
        let bind = binds.first().expect("a connection");
        bind.snapshot.get().as_ref().clone()
    }

    async fn is_in_doubt(&self) {
        until("the name to be in doubt", || self.connection().name_taken).await;
    }
}

#[actix::test]
async fn nothing_is_sent_before_the_name_is_known_to_lead_here() {
    let mut core = Core::next();
    core.is_known = false;
    let fixture = impatient().await;
    core.expect_nothing_for(PATIENCE / 2).await;
    assert_eq!(fixture.connection().state(), BindState::Binding);
    let mut other = Core::next();
    let ids = fixture.accept(&[A, B]).await;
    fixture.is_in_doubt().await;
    assert!(core.rest().await.is_empty());
    let why = fixture.connection().last_error;
    assert!(why.contains("no answers come to the name \"SMSC-"), "{why}");
    // The program with our name has gone.
    for id in ids {
        let request = other.request().await;
        assert_eq!(id_of(&request), id);
        other.take(&request).await;
    }
    fixture.empty().await;
    let shown = fixture.connection();
    assert_eq!((shown.name_taken, shown.state()), (false, BindState::Bound));
}

#[actix::test]
async fn when_answers_stop_coming_no_more_is_sent() {
    let mut core = Core::next();
    let fixture = impatient().await;
    core.expect_nothing().await;
    // The first one gets no answer, and is not followed by the other one.
    fixture.accept(&[A, B]).await;
    let request = core.request().await;
    assert_eq!(request.imsi, A);
    core.is_known = false;
    let mut other = Core::next();
    fixture.is_in_doubt().await;
    assert_eq!(core.rest().await, [NOBODY]);
    let request = other.request().await;
    assert_eq!(request.imsi, B, "the first one waits for its time");
    other.take(&request).await;
    until("one for later", || {
        fixture.queue.depth.load(Ordering::Relaxed) == 1
    })
    .await;
}

#[actix::test]
async fn a_silent_phone_is_no_doubt_about_the_name() {
    let mut core = Core::next();
    let fixture = impatient().await;
    core.expect_nothing().await;
    fixture.accept(&[A]).await;
    core.request().await;
    // The HLR is asked when it is given up, and answers.
    core.expect_nothing_for(PATIENCE * 3).await;
    fixture.scheduled(1).await;
    fixture.accept(&[B]).await;
    let request = core.request().await;
    core.take(&request).await;
    let shown = fixture.connection();
    assert_eq!((shown.name_taken, shown.state()), (false, BindState::Bound));
}

#[actix::test]
async fn a_connection_that_is_closed_again_and_again_must_last_before_it_is_used() {
    let mut core = Core::next();
    let fixture = impatient().await;
    core.expect_nothing().await;
    fixture.accept(&[A]).await;
    for _ in 0..3 {
        core.request().await;
        let next = Core::next();
        drop(std::mem::replace(&mut core, next));
    }
    fixture.is_in_doubt().await;
    let why = fixture.connection().last_error;
    assert!(why.contains("again and again"), "{why}");
    let began = Instant::now();
    core.expect_nothing_for(PATIENCE).await;
    let request = core.request().await;
    assert!(began.elapsed() >= PATIENCE * 2, "{:?}", began.elapsed());
    core.take(&request).await;
    fixture.empty().await;
    assert!(!fixture.connection().name_taken);
}
