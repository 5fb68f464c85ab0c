//! Validation of GSM networks.

use super::{refused, warnings};

const HOME: &str = "[[gsm]]\nname = 'home'\naddress = 'hlr.example'\nsmsc_address = '49160000'\n";
const IMSI: &str = "[imsi]\nhlr = 'hlr.example:4259'\n";
const ACCOUNT: &str = "[[account]]\nsystem_id = 'handsets'\npassword = 'secret12'\n";

#[test]
fn gsm_networks() {
    let home = |keys: &str| format!("{ACCOUNT}{HOME}{keys}");
    for (text, problem) in [
        ("[[gsm]]".to_owned(), "gsm[0].name: is missing"),
        (
            "[[gsm]]\nname = 'x'".to_owned(),
            "gsm[0].address: is missing; write the host of the HLR",
        ),
        (
            HOME.replace("hlr.example", "hlr:example:1"),
            "gsm[0].address: \"hlr:example:1\" is not an address; write \"host:port\"",
        ),
        (
            HOME.replace("49160000", "ACME"),
            "gsm[0].smsc_address: must be the number of the SMSC, up to 20 digits, such as \"49160000\"",
        ),
        (
            format!("{}{HOME}", home("")),
            "gsm[1].name: \"home\" is already gsm[0]",
        ),
        (
            home("account = 'handset'"),
            "gsm[0].account: there is no account \"handset\", did you mean `handsets`?",
        ),
        (
            home("ipa_name = 'a b'"),
            "gsm[0].ipa_name: must be 1 to 200 characters of ASCII, without blanks",
        ),
        (
            home("window = 0"),
            "gsm[0].window: must be between 1 and 65535",
        ),
        (
            home("rate = 0"),
            "gsm[0].rate: must be above 0; remove the key for no limit",
        ),
        (
            home("burst = 5"),
            "gsm[0].burst: means nothing without `rate`; set both",
        ),
        (home("run = 0"), "gsm[0].run: must be between 1 and 100"),
        (
            home("request_timeout = '0s'"),
            "gsm[0].request_timeout: must be longer than \"0s\"",
        ),
        (
            home("reconnect = []"),
            "gsm[0].reconnect: is empty; write at least one pause, such as [\"30m\"]",
        ),
        (
            home("causes = { RP_NONE = 'temporary' }"),
            "gsm[0].causes.\"RP_NONE\": is no command_status; write a name, a number such as 0x0400, or a range \
             such as 0x0410-0x041F",
        ),
        (
            home("causes = { RP_CONGESTION = 'later' }"),
            "gsm[0].causes.\"RP_CONGESTION\": \"later\" is no class; write one of temporary, permanent, throttled",
        ),
        (
            home("outcome_unknown = 'wait'"),
            "gsm[0].outcome_unknown: \"wait\" needs receipts, and handsets send none; write \"resend\" or \"fail\"",
        ),
        (
            home("long_messages = 'sar'"),
            "gsm[0].long_messages: handsets know parts only; write \"udh\" or \"udh16\"",
        ),
        (
            home("time_zone = 'CET'"),
            "gsm[0].time_zone: must be an offset from UTC in quarters of an hour, up to 19:45, such as \"+01:00\"",
        ),
        (
            format!("{}[[route]]\nto = ['gsm:hom']", home("")),
            "route[0].to[0]: there is no target \"gsm:hom\", did you mean `gsm:home`?",
        ),
    ] {
        let found = refused(&text);
        assert!(found.iter().any(|one| one == problem), "{text}\n{found:#?}");
    }
    let route = "[[route]]\nto = ['gsm:home']\n";
    let found = refused(&format!("{}{route}", home("")));
    let expected = "route[0].to: leads to a GSM interface, which needs the IMSIs of numbers; set imsi.hlr, imsi.url, imsi.table or imsi.ask";
    assert!(found.iter().any(|one| one == expected), "{found:#?}");
    assert!(warnings(&format!("{IMSI}{}{route}", home("account = 'handsets'\n"))).is_empty());
    let two = HOME.replace("'home'", "'other'");
    let same = warnings(&format!("{}{two}", home("")));
    let expected = "gsm[1].ipa_name: is also that of \"home\" at this HLR, which uses one connection of a name";
    assert!(same.iter().any(|one| one == expected), "{same:?}");
    let different = warnings(&format!("{}{two}ipa_name = 'OTHER-{{node}}'\n", home("")));
    assert!(
        !different.iter().any(|one| one.contains("ipa_name")),
        "{different:?}"
    );
    let off = warnings(&format!("{IMSI}{}{route}", home("enabled = false\n")));
    assert!(
        off.iter()
            .any(|one| one.contains("\"gsm:home\" is not enabled")),
        "{off:?}"
    );
}

#[test]
fn breaker_and_rewriting_of_gsm_networks() {
    let home = |keys: &str| format!("{ACCOUNT}{HOME}{keys}");
    for (text, problem) in [
        (
            home("breaker_share = 1.5"),
            "gsm[0].breaker_share: must be between 0 (none) and 1 (all)",
        ),
        (
            home("breaker_failures = 5\nbreaker_pause = '0s'"),
            "gsm[0].breaker_pause: must be longer than \"0s\"",
        ),
        (
            home("rewrite_in = [{ field = 'destination', strip = 30 }]"),
            "gsm[0].rewrite_in[0].strip: must be at most 20, the longest address",
        ),
        (
            home(
                "rewrite_out = [{ field = 'source', add = '0' }, { field = 'destination', add = '0' }]",
            ),
            "gsm[0].rewrite_out[1].field: means nothing: handsets are addressed by IMSI; write \"source\"",
        ),
    ] {
        let found = refused(&text);
        assert!(found.iter().any(|one| one == problem), "{text}\n{found:#?}");
    }
}
