//! Validation of rules for messages that operators bring.

use super::{refused, warnings};

const PEERS: &str = "[[account]]\nsystem_id = 'shop'\npassword = 'p'\n\
    [[account]]\nsystem_id = 'off'\npassword = 'p'\nenabled = false\n";

#[test]
fn mo_rules() {
    let rule = |keys: &str| format!("{PEERS}[[mo_rule]]\nname = 'x'\n{keys}");
    for (text, problem) in [
        (
            "[[mo_rule]]\ndrop = true".to_owned(),
            "mo_rule[0].name: is missing",
        ),
        (
            "[[mo_rule]]\nname = 'explain'\ndrop = true".to_owned(),
            "mo_rule[0].name: is the path of an explanation (/v1/mo-rules/explain); choose another",
        ),
        (
            format!(
                "{}\ndrop = true\n[[mo_rule]]\nname = 'x'\ndrop = true",
                rule("")
            ),
            "mo_rule[1].name: \"x\" is already mo_rule[0]",
        ),
        (
            rule(""),
            "mo_rule[0].deliver_to: is missing; set one of `deliver_to`, `reply` and `drop`",
        ),
        (
            rule("drop = true\nreply = 'a'\nreply_account = 'shop'"),
            "mo_rule[0].deliver_to: is one too many; set only one of `deliver_to`, `reply` and `drop`",
        ),
        (
            rule("deliver_to = 'shopp'"),
            "mo_rule[0].deliver_to: there is no account \"shopp\", did you mean `shop`?",
        ),
        (
            rule("deliver_to = 'shop'\ncallback = 'crm'"),
            "mo_rule[0].callback: the account \"shop\" has no `callbacks`; give it some, or leave `callback` out",
        ),
        (
            rule("drop = true\ncallback = 'crm'"),
            "mo_rule[0].callback: means nothing without `deliver_to`; name the account whose callback it is",
        ),
        (
            rule("drop = true\nkeywords = ['a', 'STRASSE', 'straße']"),
            "mo_rule[0].keywords[2]: is there twice; remove one",
        ),
        (
            rule("drop = true\nkeywords = ['now!']"),
            "mo_rule[0].keywords[0]: \"now!\" must end with a letter or a digit: punctuation after a word does not belong to it",
        ),
        (
            rule("reply = 'a {{b}}'\nreply_account = 'shop'"),
            "mo_rule[0].reply: has {{b}}; known are {{from}}, {{to}}, {{keyword}}, {{text}}",
        ),
        (
            rule("reply = 'a'\nreply_account = 'shop'\nreply_limit_per = '0s'"),
            "mo_rule[0].reply_limit_per: is 0s; write \"1s\" or more",
        ),
    ] {
        assert_eq!(refused(&text), [problem], "{text}");
    }
    assert!(warnings(&rule("deliver_to = 'off'")).contains(
        &"mo_rule[0].deliver_to: \"off\" is not enabled: this rule takes nothing".to_owned()
    ));
}
