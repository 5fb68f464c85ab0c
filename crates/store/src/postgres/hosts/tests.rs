//! Hosts tried side by side, with a paused clock; which server follows which; what a URL says.

use super::*;

const FIRST: DatabaseServer = DatabaseServer {
    system: 7,
    timeline: 1,
    started: 1_000,
};

async fn after(seconds: f64, result: Result<usize, &str>) -> Result<usize, String> {
    sleep(Duration::from_secs_f64(seconds)).await;
    result.map_err(str::to_owned)
}

fn url(text: &str) -> Config {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_silent_host_holds_up_the_next_for_a_moment_only() {
    let began = Instant::now();
    let won = race(2, |turn| after([3600.0, 0.1][turn], Ok(turn))).await;
    assert_eq!(won, Ok(1));
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn the_first_wins_when_it_answers_as_usual() {
    assert_eq!(race(2, |turn| after(0.2, Ok(turn))).await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn what_has_failed_is_tried_again_while_another_is_silent() {
    let began = Instant::now();
    let tried = std::cell::Cell::new(0);
    let won = race(2, |turn| {
        tried.set(tried.get() + turn);
        let is_promoted = tried.get() == 4;
        async move {
            match (turn, is_promoted) {
                (0, _) => after(3600.0, Err("silent")).await,
                (_, false) => after(0.01, Err("read-only")).await,
                (_, true) => Ok(turn),
            }
        }
    });
    assert_eq!(won.await, Ok(1));
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn when_all_have_failed_nothing_is_waited_for() {
    let began = Instant::now();
    let lost = race(2, |turn| after(0.1, Err(["refused", "read-only"][turn]))).await;
    assert_eq!(
        lost,
        Err(vec!["refused".to_owned(), "read-only".to_owned()])
    );
    assert!(began.elapsed() < Duration::from_millis(500));
}

#[test]
fn a_promoted_server_follows_the_primary_before_it() {
    let promoted = DatabaseServer {
        timeline: 2,
        started: 500,
        ..FIRST
    };
    assert_eq!(promoted.after(FIRST), ServerStanding::Successor);
    assert_eq!(FIRST.after(promoted), ServerStanding::Former);
    assert_eq!(FIRST.after(FIRST), ServerStanding::Same);
    let restarted = DatabaseServer {
        started: 2_000,
        ..FIRST
    };
    assert_eq!(restarted.after(FIRST), ServerStanding::Successor);
    let upgraded = DatabaseServer { system: 8, ..FIRST };
    assert_eq!(upgraded.after(promoted), ServerStanding::Successor);
}

#[test]
fn a_url_decides_what_it_names() {
    let named = common(
        &url(
            "postgres://me@a,b/db?tcp_user_timeout=1500&keepalives_idle=7&keepalives_interval=3\
             &keepalives_retries=9&sslmode=require",
        ),
        Duration::from_secs(5),
    );
    assert_eq!(
        named.get_tcp_user_timeout(),
        Some(&Duration::from_millis(1500))
    );
    assert_eq!(named.get_keepalives_idle(), Duration::from_secs(7));
    assert_eq!(
        named.get_keepalives_interval(),
        Some(Duration::from_secs(3))
    );
    assert_eq!(named.get_keepalives_retries(), Some(9));
    assert_eq!(named.get_user(), Some("me"));
    let bare = common(&url("postgres://a/db?keepalives=0"), Duration::from_secs(5));
    assert_eq!(bare.get_tcp_user_timeout(), Some(&Duration::from_secs(10)));
    assert_eq!(bare.get_keepalives_idle(), Duration::from_secs(5));
    assert!(!bare.get_keepalives());
    for config in [named, bare] {
        let attrs = config.get_target_session_attrs();
        assert_eq!(attrs, TargetSessionAttrs::ReadWrite);
    }
}

#[test]
fn a_limit_is_that_of_the_url() {
    let tls = || smsc_tls::client_config(smsc_tls::platform_roots(), None).unwrap();
    let hosts = |text| Hosts::new(&url(text), tls(), Duration::from_secs(5));
    let limit = |text| hosts(text).unwrap().0.limit;
    assert_eq!(
        limit("postgres://a,b/db?connect_timeout=2"),
        Duration::from_secs(2)
    );
    assert_eq!(limit("postgres://a,b/db"), Duration::from_secs(5));
    assert!(hosts("postgres://a/db?target_session_attrs=read-only").is_err());
}
