//! Keywords, templates and the guard against loops by tables; the order of rules against the naive search.

use proptest::prelude::*;

use super::*;
use crate::policy::AddressEntry;

fn set(entries: &[&str]) -> Vec<Arc<AddressSet>> {
    let entries = entries
        .iter()
        .map(|text| AddressEntry::parse(text).unwrap());
    vec![Arc::new(AddressSet::build(entries).unwrap())]
}

fn rule(name: &str) -> CompiledMoRule {
    CompiledMoRule {
        name: name.to_owned(),
        to: Vec::new(),
        from: Vec::new(),
        keywords: Vec::new(),
        operator: None,
        account: None,
        action: Action::Drop,
    }
}

fn keywords(words: &[&str]) -> Vec<Keyword> {
    words
        .iter()
        .map(|word| Keyword::parse(word).unwrap())
        .collect()
}

fn reply(template: &str) -> Action {
    Action::Reply(MoReply {
        template: Template::parse(template).unwrap(),
        account: "acme".to_owned(),
        from: None,
        limit: 1,
        per: Duration::from_secs(60),
    })
}

fn asked<'m>(to: &'m str, from: &'m str) -> MoRuleInput<'m> {
    MoRuleInput {
        destination: to.as_bytes(),
        source: from.as_bytes(),
        operator: "up",
        owner: None,
    }
}

fn name<'r>(found: &MoRuleMatch<'r>) -> Option<&'r str> {
    match found {
        MoRuleMatch::By(rule) => Some(&rule.name),
        _ => None,
    }
}

#[test]
fn a_text_begins_with_its_keyword_in_any_case() {
    for (keyword, text, fits) in [
        ("INFO", "info", true),
        ("info", "  INFO weather", true),
        ("info", "Info, please", true),
        ("info", "INFO!", true),
        ("info", "info?weather", true),
        ("info", "INFOS", false),
        ("info", "INFO2", false),
        ("info", "an info", false),
        ("info", "inf", false),
        ("info", "", false),
        ("info", "   ", false),
        ("info", "!info", false),
        ("e-mail", "E-Mail me", true),
        ("+1", "+1 for this", true),
        ("4", "4 times", true),
        ("4", "42", false),
        // German: sharp s in its three forms.
        ("straße", "STRASSE 5", true),
        ("STRASSE", "straße", true),
        ("straße", "STRAẞE", true),
        ("grüße", "GRÜSSE", true),
        ("grusse", "GRÜSSE", false),
        // Turkish: what a phone makes of it, in either setting.
        ("info", "İNFO", true),
        ("INFO", "ınfo", true),
        ("bilgi", "BİLGİ", true),
        ("BİLGİ", "bilgi", true),
        ("BİLGİ", "BILGI", true),
        ("ışık", "IŞIK", true),
        // Greek: the last sigma, accents, and capitals that the GSM alphabet writes with Latin letters.
        ("οδος", "ΟΔΟΣ", true),
        ("πληροφορίες", "ΠΛΗΡΟΦΟΡΙΕΣ", true),
        ("πληροφορίες", "ΠΛHPOΦOPIEΣ", true),
        ("ΐ", "Ϊ", true),
        ("ναι", "NAI", true),
        // Cyrillic, and a letter with its accent as a character of its own.
        ("привет", "ПРИВЕТ!", true),
        ("café", "CAFE\u{301} noir", true),
        ("cafe", "cafe\u{301}", false),
        ("ﬁn", "FIN", true),
    ] {
        let [keyword] = &keywords(&[keyword])[..] else {
            panic!("one keyword");
        };
        let found = keyword.begins(&composed(text));
        assert_eq!(found.is_some(), fits, "{keyword:?} {text:?}");
    }
}

#[test]
fn keywords_that_no_text_begins_with_are_refused() {
    for (word, said) in [
        ("", "is empty"),
        ("  ", "is empty"),
        ("two words", "more than one word"),
        ("INFO!", "must end with a letter or a digit"),
        ("👍", "must end with a letter or a digit"),
    ] {
        let error = Keyword::parse(word).unwrap_err();
        assert!(error.contains(said), "{word}: {error}");
    }
}

#[test]
fn a_text_is_its_keyword_and_the_rest() {
    let known = keywords(&["win", "e-mail"]);
    for (text, keyword, rest) in [
        ("WIN 1234 now ", "WIN", "1234 now"),
        (" win, 1234", "win", "1234"),
        ("win:1234", "win", "1234"),
        ("e-mail me", "e-mail", "me"),
        ("other words here", "other", "words here"),
        ("other. Words", "other", "Words"),
        ("#7 red", "#7", "red"),
        ("win", "win", ""),
        ("win +44", "win", "+44"),
        ("!!!", "!!!", ""),
        ("", "", ""),
    ] {
        assert_eq!(
            words(&known, text),
            KeywordSplit { keyword, rest },
            "{text:?}"
        );
    }
}

#[test]
fn a_rule_fits_by_all_of_its_conditions() {
    let mut one = rule("one");
    one.to = set(&["12345", "200*"]);
    one.from = set(&["4477*"]);
    one.keywords = keywords(&["info"]);
    one.operator = Some("up".to_owned());
    let known = |text: &'static str| move || MoText::Known(text);
    let good = asked("12345", "+447700900123");
    assert_eq!(one.misses(&good, known("INFO")), None);
    assert_eq!(one.misses(&asked("2001", "4477"), known("info x")), None);
    assert_eq!(one.misses(&good, known("other")), Some(Miss::Keyword));
    assert_eq!(one.misses(&good, || MoText::Absent), Some(Miss::Keyword));
    assert_eq!(one.misses(&good, || MoText::Later), Some(Miss::Later));
    let never = || -> MoText<'static> { panic!("the text is not needed") };
    let elsewhere = asked("54321", "4477");
    assert_eq!(one.misses(&elsewhere, never), Some(Miss::Destination));
    let other = asked("12345", "49170");
    assert_eq!(one.misses(&other, never), Some(Miss::Source));
    let down = MoRuleInput {
        operator: "down",
        ..good
    };
    assert_eq!(one.misses(&down, never), Some(Miss::Operator));
    one.account = Some("acme".to_owned());
    assert_eq!(one.misses(&good, never), Some(Miss::Account));
    let owned = MoRuleInput {
        owner: Some("acme"),
        ..good
    };
    assert_eq!(one.misses(&owned, known("info")), None);
}

#[test]
fn a_part_waits_only_where_a_keyword_decides() {
    let mut by_word = rule("by word");
    by_word.to = set(&["12345"]);
    by_word.keywords = keywords(&["info"]);
    let mut rest = rule("rest");
    rest.to = set(&["12345"]);
    let rules = CompiledMoRules::new(vec![by_word.clone(), rest.clone()]);
    let later = || MoText::Later;
    assert!(matches!(
        rules.find(&asked("12345", "1"), later),
        MoRuleMatch::Later
    ));
    assert!(matches!(
        rules.find(&asked("1", "1"), later),
        MoRuleMatch::Nothing
    ));
    let rules = CompiledMoRules::new(vec![rest, by_word]);
    assert_eq!(name(&rules.find(&asked("12345", "1"), later)), Some("rest"));
}

#[test]
fn templates_are_filled_and_known_again() {
    let template = Template::parse("Hi {{from}}, {{ keyword }} to {{to}}: {{text}}!").unwrap();
    let values = TemplateValues {
        from: "4477",
        to: "12345",
        keyword: "INFO",
        text: "{{from}}",
    };
    let filled = template.filled(values);
    assert_eq!(filled, "Hi 4477, INFO to 12345: {{from}}!");
    for (text, template, known) in [
        (
            "Thanks, you have won 5",
            "Thanks, you have won {{text}}",
            true,
        ),
        (
            "  Thanks, you have won ",
            "Thanks, you have won {{text}}",
            true,
        ),
        ("Thanks, you", "Thanks, you have won {{text}}", false),
        ("Thank you very much", "Thank you very much", true),
        ("Thank you very much!", "Thank you very much", false),
        (
            "A to B: hello, friend",
            "{{from}} to B: {{text}}, friend",
            true,
        ),
        ("A to B: hello", "{{from}} to B: {{text}}, friend", false),
        ("OK", "OK", false),
        ("anything", "{{text}}", false),
    ] {
        let template = Template::parse(template).unwrap();
        assert_eq!(template.could_have_written(text), known, "{text}");
    }
    for (text, said) in [
        ("", "is empty"),
        ("a {{from", "{{ without }}"),
        ("a {{name}}", "has {{name}}; known are {{from}}, {{to}}"),
    ] {
        let error = Template::parse(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn machines_and_own_addresses_are_not_answered() {
    let mut one = rule("one");
    one.to = set(&["12345", "447700911111"]);
    one.action = reply("Welcome to the weather service, {{from}}");
    let rules = CompiledMoRules::new(vec![one]);
    let owned = |address: &[u8]| address == b"447700922222";
    for (from, is_acknowledgement, text, why) in [
        ("+447700900123", false, "info", None),
        ("ACME", false, "info", Some(NoReplyReason::NotANumber)),
        ("", false, "info", Some(NoReplyReason::NotANumber)),
        ("54321", false, "info", Some(NoReplyReason::ShortCode)),
        (
            "447700922222",
            false,
            "info",
            Some(NoReplyReason::OwnAddress),
        ),
        (
            "+447700911111",
            false,
            "info",
            Some(NoReplyReason::OwnAddress),
        ),
        (
            "447700933333",
            false,
            "info",
            Some(NoReplyReason::OwnAddress),
        ),
        ("447700900123", true, "info", Some(NoReplyReason::Automatic)),
        (
            "447700900123",
            false,
            "Welcome to the weather service, 12345",
            Some(NoReplyReason::Automatic),
        ),
    ] {
        let to = b"447700933333";
        let found = rules.unanswered(from.as_bytes(), to, is_acknowledgement, Some(text), owned);
        assert_eq!(found, why, "{from} {text}");
    }
}

#[test]
fn a_note_is_read_back() {
    assert_eq!(noted(&note("info", "")), Some(("info", "")));
    assert_eq!(noted(&note("info", "crm")), Some(("info", "crm")));
    assert_eq!(noted("internal:assembly"), None);
}

/// Conditions from small alphabets, so that several rules often fit.
fn some_rule() -> impl Strategy<Value = CompiledMoRule> {
    let entry = |of: &'static str| proptest::option::of(of);
    let parts = (
        entry("[12]{0,2}\\*|[12]{1,2}"),
        entry("[34]{0,1}\\*"),
        entry("[ab]"),
    );
    (parts, proptest::option::of("up|down")).prop_map(|((to, from, word), operator)| {
        CompiledMoRule {
            to: to.map_or_else(Vec::new, |to| set(&[&to])),
            from: from.map_or_else(Vec::new, |from| set(&[&from])),
            keywords: word.map_or_else(Vec::new, |word| keywords(&[&word])),
            operator,
            ..rule("")
        }
    })
}

proptest! {
    #[test]
    fn the_first_rule_in_order_that_fits_takes_the_message(
        mut rules in proptest::collection::vec(some_rule(), 0..6),
        (to, from, text) in ("[12]{1,2}", "[34]{1,2}", "[AB]( x)?"),
    ) {
        for (at, rule) in rules.iter_mut().enumerate() {
            rule.name = at.to_string();
        }
        let asked = asked(&to, &from);
        let known = || MoText::Known(&text);
        let first = rules.iter().find(|rule| rule.misses(&asked, known).is_none());
        let first = first.map(|rule| rule.name.clone());
        let table = CompiledMoRules::new(rules.clone());
        prop_assert_eq!(name(&table.find(&asked, known)), first.as_deref());
        // A rule that is moved to the end takes only what no other one takes.
        if let Some(first) = first {
            let at: usize = first.parse().unwrap();
            let moved = rules.remove(at);
            rules.push(moved);
            let others = rules.iter().take(rules.len() - 1).any(|rule| rule.misses(&asked, known).is_none());
            let table = CompiledMoRules::new(rules);
            let now = table.find(&asked, known);
            prop_assert_eq!(name(&now) == Some(first.as_str()), !others);
        }
    }
}
