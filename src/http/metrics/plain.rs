//! The text format of Prometheus (version 0.0.4), made of the OpenMetrics text, for scrapers that know no other.
//!
//! What differs: the name in the comments of a counter has `_total`, an info metric is a gauge, and there are no units,
//! exemplars and end mark.

/// The content type of the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a client asks for this format: it accepts text and not OpenMetrics. Who says nothing gets OpenMetrics.
pub(super) fn is_wanted(accept: &str) -> bool {
    let accept = accept.to_ascii_lowercase();
    accept.contains("text/plain") && !accept.contains("application/openmetrics-text")
}

/// Rewrites a page.
pub(super) fn of_open_metrics(page: &str) -> String {
    let mut plain = String::with_capacity(page.len());
    let mut help = "";
    for line in page.lines() {
        let mut comment = line
            .strip_prefix("# ")
            .into_iter()
            .flat_map(|rest| rest.splitn(3, ' '));
        match (comment.next(), comment.next(), comment.next()) {
            (Some("HELP"), _, text) => help = text.unwrap_or_default(),
            (Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    _ => ("", kind),
                };
                plain += &format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n");
            }
            (Some(_), ..) => {}
            (None, ..) => {
                plain += without_exemplar(line);
                plain.push('\n');
            }
        }
    }
    plain
}

/// A sample up to its value.
fn without_exemplar(sample: &str) -> &str {
    let after_labels = end_of_labels(sample);
    match sample[after_labels..].find(" # ") {
        Some(at) => &sample[..after_labels + at],
        None => sample,
    }
}

/// Values of labels are quoted, and may have any character.
fn end_of_labels(sample: &str) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, octet) in sample.bytes().enumerate() {
        match octet {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted => return at + 1,
            b' ' if !is_quoted => return at,
            _ => {}
        }
    }
    sample.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_samples_are_those_of_the_older_format() {
        let page = "# HELP smsc_a Messages.\n# TYPE smsc_a counter\nsmsc_a_total{b=\"c d} # {\\\"\"} 3 # {trace_id=\"1\"} 0.5 1.0\n\
                    # HELP smsc_t_seconds Time.\n# TYPE smsc_t_seconds histogram\n# UNIT smsc_t_seconds seconds\n\
                    smsc_t_seconds_bucket{le=\"+Inf\"} 1 # {trace_id=\"2\"} 0.1\nsmsc_t_seconds_count 1\n\
                    # HELP smsc_build Build.\n# TYPE smsc_build info\nsmsc_build_info{version=\"1\"} 1\n# EOF\n";
        assert_eq!(
            of_open_metrics(page),
            "# HELP smsc_a_total Messages.\n# TYPE smsc_a_total counter\nsmsc_a_total{b=\"c d} # {\\\"\"} 3\n\
             # HELP smsc_t_seconds Time.\n# TYPE smsc_t_seconds histogram\n\
             smsc_t_seconds_bucket{le=\"+Inf\"} 1\nsmsc_t_seconds_count 1\n\
             # HELP smsc_build_info Build.\n# TYPE smsc_build_info gauge\nsmsc_build_info{version=\"1\"} 1\n"
        );
    }

    #[test]
    fn only_who_asks_for_it_gets_it() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, wanted) in [
            (prometheus, false),
            ("text/plain;version=0.0.4", true),
            ("Text/Plain", true),
            ("*/*", false),
            ("text/html", false),
            ("", false),
        ] {
            assert_eq!(is_wanted(accept), wanted, "{accept}");
        }
    }
}
