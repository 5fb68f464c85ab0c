//! The pages of one account and one operator in a real browser, with each role, and the sheet for the customer there.

use crate::console::pictures;
use crate::harness::{Client, Peer, Simulator, Smsc, browser_script, submit, until};

const TOKEN: &str = "harness-token";

#[test]
fn an_account_and_an_operator_have_a_page() {
    let up = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "s3cret99")
        .operator("up", up.address())
        .operator("up2", up.address())
        .route("33", "test:failed")
        .route("", "up")
        .smpp("public_host = \"smpp.example\"")
        .toml("[usage]\nenabled = true")
        .with_api()
        .start();
    for operator in ["up", "up2"] {
        smsc.wait_for_binds(operator, 1);
    }
    let mut esme = Peer::bind(smsc.smpp(), "test", "s3cret99");
    let delivered = esme.submit(submit("447911123456", "hello page"));
    esme.deliver();
    let failed = esme.submit(submit("33611223344", "hello nobody"));
    esme.deliver();
    smsc.wait_for_final(&failed);
    let admin = smsc.admin();
    until("usage and failures to be counted", || {
        let usage = admin.get("/v1/usage?account=test");
        let failures = admin.get("/v1/failures?account=test");
        let counted = usage["usage"].as_array().unwrap().len() >= 2;
        (counted && failures["messages"] == 1).then_some(())
    });
    // So that its list of API keys has a name.
    smsc.api_of("test", "both");
    let reader = admin.with_role("read", "reader");
    let folder = tempfile::tempdir().unwrap();
    let pictures = pictures();
    let base = format!("http://{}/", smsc.http());
    let steps = "account_has_a_page,operator_has_a_page,names_lead_to_the_pages,sheet_is_handed_over,account_is_paused,\
                 reader_sees_no_button,what_is_not_there_is_said_so,failed_requests_are_told_apart,\
                 answers_that_are_odd_break_no_page,unseen_account_asks_nothing,removed_while_open,pages_are_accessible_and_fit";
    let arguments = [
        steps,
        &base,
        TOKEN,
        pictures.to_str().unwrap(),
        reader.token(),
        &delivered,
    ];
    Client::run(browser_script(
        "console_pages.js",
        &arguments,
        folder.path(),
    ));
    smsc.assert_no_panic();
}
