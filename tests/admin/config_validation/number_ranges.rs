//! Validation of the number plan.

use super::{refused, warnings};

#[test]
fn number_ranges() {
    let range = |keys: &str| format!("[[number_range]]\nname = 'x'\n{keys}");
    let prefixes = "prefixes = ['44']";
    for (text, problem) in [
        (
            format!("[[number_range]]\n{prefixes}"),
            "number_range[0].name: is missing",
        ),
        (
            format!("{}\n{}", range(prefixes), range("prefixes = ['45']")),
            "number_range[1].name: \"x\" is already number_range[0]",
        ),
        (
            range(""),
            "number_range[0].prefixes: is missing; write [\"\"] for every number",
        ),
        (
            range("prefixes = ['44', 'ACME']"),
            "number_range[0].prefixes[1]: \"ACME\" must be up to 20 digits, or empty",
        ),
        (
            range("prefixes = ['44', '+44']"),
            "number_range[0].prefixes[1]: \"+44\" is there twice; remove one",
        ),
        (
            format!(
                "{}\nmax_digits = 5\n[[number_range]]\nname = 'y'\n{prefixes}\nmin_digits = 5",
                range(prefixes)
            ),
            "number_range[1].prefixes[0]: number_range[0] has numbers with \"44\" of as many digits; \
             join them, or choose other `min_digits` and `max_digits`",
        ),
        (
            range(&format!("{prefixes}\nmax_digits = 21")),
            "number_range[0].max_digits: must be 1 to 20",
        ),
        (
            range(&format!("{prefixes}\nmin_digits = 6\nmax_digits = 5")),
            "number_range[0].min_digits: is 6, and `max_digits` only 5",
        ),
        (
            range(&format!("{prefixes}\nnumbers = ['list:known']")),
            "number_range[0].numbers[0]: there is no [[list]] \"known\", there is none",
        ),
        (
            range(&format!("{prefixes}\nclass = 'outside'\nnumbers = ['441']")),
            "number_range[0].numbers: means nothing outside: which numbers exist there, others know; remove it",
        ),
        (
            range(&format!("{prefixes}\nto = ['nobody']")),
            "number_range[0].to[0]: there is no target \"nobody\"",
        ),
    ] {
        let problems = refused(&text);
        assert!(
            problems.iter().any(|found| found.starts_with(problem)),
            "{problem} in {problems:?}"
        );
    }
}

#[test]
fn ranges_that_do_not_compete_are_taken_and_lead_somewhere() {
    let text = "[[account]]\nsystem_id = 'a'\npassword = 'p'\n\
        [[number_range]]\nname = 'any'\nprefixes = ['']\nto = ['test:delivered']\n\
        [[number_range]]\nname = 'codes'\nprefixes = ['']\nmax_digits = 6\n\
        [[number_range]]\nname = 'longer'\nprefixes = ['']\nmin_digits = 7\nmax_digits = 8\n";
    let found = warnings(text);
    assert!(
        !found
            .iter()
            .any(|warning| warning.contains("every message is refused")),
        "{found:?}"
    );
}
