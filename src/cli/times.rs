//! Which messages by when they were accepted and when they ended, for every command that looks for messages.

/// `--since`, `--until` and `--before`.
#[derive(Debug, Default, clap::Args)]
pub struct TimeRangeArgs {
    /// Only messages accepted then or later: RFC 3339, a day, or Unix milliseconds.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only messages accepted before then.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only messages older than this one: where the previous page ended.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

/// `--ended-since`, `--ended-until` and `--order`.
#[derive(Debug, Default, clap::Args)]
pub struct EndRangeArgs {
    /// Only messages that ended then or later.
    #[arg(long, value_name = "TIME")]
    ended_since: Option<String>,
    /// Only messages that ended before then.
    #[arg(long, value_name = "TIME")]
    ended_until: Option<String>,
    /// What comes first: the latest acceptance (accepted) or the latest end (ended).
    #[arg(long, value_name = "ORDER")]
    order: Option<String>,
}

// === impl EndRangeArgs ===

impl EndRangeArgs {
    /// What was given, by the names of the API.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("ended_since", &self.ended_since),
            ("ended_until", &self.ended_until),
            ("order", &self.order),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// What was given of these conditions and the times, by the names of the API.
pub fn given<'a>(
    own: impl IntoIterator<Item = (&'static str, &'a Option<String>)>,
    times: &'a TimeRangeArgs,
) -> Vec<(&'static str, &'a str)> {
    let times = [
        ("since", &times.since),
        ("until", &times.until),
        ("before", &times.before),
    ];
    own.into_iter()
        .chain(times)
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .collect()
}
