//! Which messages by when they were accepted, for every command that looks for messages.

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
