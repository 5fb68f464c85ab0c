//! Validation of policies, lists and limits.

use std::fs;

use super::{refused, warnings};

#[test]
fn policies_lists_and_limits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.txt");
    fs::write(&file, "# fine\nACME\n\n4*4\nlist:other\n").unwrap();
    let file = file.to_str().unwrap();
    let account = "[[account]]\nsystem_id = 'a'\npassword = 'p'\n";
    let cases = [
        (
            format!("{account}senders = ['ACME', '4*4']"),
            "account[0].senders[1]: \"4*4\" has a `*` that is not at its end; write a regular expression between slashes".to_owned(),
        ),
        (
            format!("{account}blocked_destinations = ['list:spma']\n[[list]]\nname = 'spam'"),
            "account[0].blocked_destinations[0]: there is no [[list]] \"spma\", did you mean `spam`?".to_owned(),
        ),
        (
            "policy.blocked_senders = ['']".to_owned(),
            "policy.blocked_senders[0]: is empty; write an address, a prefix such as `4477*`, or `/^$/` for no address".to_owned(),
        ),
        (
            "policy.limit_addresses = 0".to_owned(),
            "policy.limit_addresses: must be at least 1".to_owned(),
        ),
        (
            "policy.opt_out_status = 0".to_owned(),
            "policy.opt_out_status: must not be ESME_ROK: the message would be lost; write \"ESME_RINVDSTADR\"".to_owned(),
        ),
        (
            "policy.opt_out_keywords = [' ']".to_owned(),
            "policy.opt_out_keywords[0]: is empty; write a word".to_owned(),
        ),
        (
            "policy.opt_out_keywords = ['STOP']\npolicy.opt_in_keywords = ['on', 'stop']".to_owned(),
            "policy.opt_in_keywords[1]: is an opt-out keyword as well; remove one".to_owned(),
        ),
        ("[[list]]".to_owned(), "list[0].name: is missing".to_owned()),
        (
            "[[list]]\nname = 'x'\n[[list]]\nname = 'x'".to_owned(),
            "list[1].name: \"x\" is already list[0]".to_owned(),
        ),
        (
            format!("[[list]]\nname = 'x'\nfile = {file:?}"),
            format!(
                "list[0].file: {file}: line 4 \"4*4\" has a `*` that is not at its end; write a regular expression between slashes; line 5 names a list inside a list; name both where they are used"
            ),
        ),
        (
            "[[list]]\nname = 'x'\nfile = '/nowhere/list'".to_owned(),
            "list[0].file: /nowhere/list: No such file or directory (os error 2)".to_owned(),
        ),
        (
            "[[limit]]\nname = 'x'".to_owned(),
            "limit[0].rate: must be above 0; remove the key for no limit".to_owned(),
        ),
        (
            "[[limit]]\nname = 'a b'\nrate = 1".to_owned(),
            "limit[0].name: must be up to 64 letters, digits, `-`, `_` or `.`".to_owned(),
        ),
        (
            "[[limit]]\nname = 'x'\nrate = 1\nsender_prefix = '44*'".to_owned(),
            "limit[0].sender_prefix: begins addresses as it is; leave out the `*`".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(&text), [expected], "{text}");
    }
    let said = warnings("[[limit]]\nname = 'x'\nrate = 1\naccount = 'nobody'");
    assert!(
        said[0].contains("there is no account \"nobody\""),
        "{said:?}"
    );
}
