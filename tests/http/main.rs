//! The HTTP APIs for accounts, and the UNIX socket for programs: submitting, following and paying without SMPP.

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/history.rs"]
mod history;

mod api_document_holds;
mod api_keys;
mod browsers_of_listed_origins;
mod callback_urls_fail_alone;
mod callbacks_for_each_state;
mod callbacks_of_messages;
mod callbacks_of_other_products;
mod errors_say_what_is_wrong;
mod every_entrance_survives_kill_nine;
mod examples_over_http;
mod forms_are_bounded;
mod generated_clients;
mod hostile_callback_hosts;
mod inbox_of_an_account;
mod jasmin_entrance;
mod kannel_entrance;
mod limits_say_when;
mod local_socket;
mod local_socket_lasts;
mod messages_are_changed;
mod messages_over_http;
mod numbers_in_national_form;
mod opt_outs_of_an_account;
mod pain_23_callbacks_are_signed_and_tried_for_hours;
mod pain_24_a_batch_is_sent_once_and_says_of_each;
mod plain;
mod slow_tls_handshakes;
mod states_keep_their_order;
mod warm_connections;
mod xml_rpc;

use harness::Smsc;

/// An SMSC with the HTTP API, whose account `test` has everything delivered at once.
fn delivering() -> Smsc {
    Smsc::new()
        .with_api()
        .account("test", "test")
        .route("", "test:delivered")
        .start()
}
