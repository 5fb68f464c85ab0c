//! Other implementations of SMPP as ESMEs and as operators, each in every case: the table below lists
//! implementations and cases, with a test for each pair.
//!
//! An implementation plays all its cases in one run against its own server, which its tests share; a
//! test checks the results of its case. Tests of an implementation beyond these cases are in the file
//! with its name.

mod cases;
mod kannel;
mod node_esme;
mod node_operator;
mod operators;
mod rusmppc;
mod smpplib;

use crate::harness::{node_script, perl_script, python_script};
use cases::Esme;
use operators::Operator;

/// npm's smpp 0.5.
static NODE_SMPP: Esme = Esme::script(3, |to| node_script("node_cases.js", to));
/// Python's smpplib 2.2.
static SMPPLIB: Esme = Esme::script(3, |to| python_script("smpplib_cases.py", to));
/// smpp34 1.5: Python with a core in Rust.
static SMPP34: Esme = Esme::script(3, |to| python_script("smpp34_esme.py", to));
/// Python's aiosmpplib 0.7.
static AIOSMPPLIB: Esme = Esme::script(3, |to| python_script("aiosmpplib_esme.py", to));
/// Perl's Net::SMPP 1.19, which announces version 3.3, so it has no transceiver.
static NET_SMPP: Esme = Esme::script(2, |to| perl_script("net_smpp_esme.pl", to));
/// rusmppc 0.4, SMPP 5.0.
static RUSMPPC: Esme = Esme::native(3, rusmppc::play);
/// Kannel 1.4: bearerbox and smsbox.
static KANNEL: Esme = Esme::native(3, kannel::play);

/// npm's smpp 0.5, which accepts bind_transceiver.
static NODE_OPERATOR: Operator = Operator::new("transceiver", |port| {
    node_script("node_operator.js", &[port])
});
/// smpp34 1.5. It does not read deliver_sm_resp on a receiver, so the SMSC binds as transceiver; a pair
/// of binds is tested with npm's smpp.
static SMPP34_OPERATOR: Operator = Operator::new("transceiver", |port| {
    python_script("smpp34_operator.py", &[port])
});

macro_rules! cells {
    ($($played:ident { $(fn $name:ident() = $case:path;)+ })+) => {
        $($(
            #[test]
            fn $name() {
                $case($played.played());
            }
        )+)+
    };
}

cells! {
    NODE_SMPP {
        fn node_smpp_binds() = cases::binds;
        fn node_smpp_submits() = cases::submits;
        fn node_smpp_submits_long_texts() = cases::submits_long_texts;
        fn node_smpp_gets_receipts() = cases::gets_receipts;
        fn node_smpp_gets_mo() = cases::gets_mo;
        fn node_smpp_unbinds() = cases::unbinds;
        fn node_smpp_comes_back() = cases::comes_back;
    }
    SMPPLIB {
        fn smpplib_binds() = cases::binds;
        fn smpplib_submits() = cases::submits;
        fn smpplib_submits_long_texts() = cases::submits_long_texts;
        fn smpplib_gets_receipts() = cases::gets_receipts;
        fn smpplib_gets_mo() = cases::gets_mo;
        fn smpplib_unbinds() = cases::unbinds;
        fn smpplib_comes_back() = cases::comes_back;
    }
    SMPP34 {
        fn smpp34_binds() = cases::binds;
        fn smpp34_submits() = cases::submits;
        fn smpp34_submits_long_texts() = cases::submits_long_texts;
        fn smpp34_gets_receipts() = cases::gets_receipts;
        fn smpp34_gets_mo() = cases::gets_mo;
        fn smpp34_unbinds() = cases::unbinds;
        fn smpp34_comes_back() = cases::comes_back;
    }
    AIOSMPPLIB {
        fn aiosmpplib_binds() = cases::binds;
        fn aiosmpplib_submits() = cases::submits;
        fn aiosmpplib_submits_long_texts() = cases::submits_long_texts;
        fn aiosmpplib_gets_receipts() = cases::gets_receipts;
        fn aiosmpplib_gets_mo() = cases::gets_mo;
        fn aiosmpplib_unbinds() = cases::unbinds;
        fn aiosmpplib_comes_back() = cases::comes_back;
    }
    NET_SMPP {
        fn net_smpp_binds() = cases::binds;
        fn net_smpp_submits() = cases::submits;
        fn net_smpp_submits_long_texts() = cases::submits_long_texts;
        fn net_smpp_gets_receipts() = cases::gets_receipts;
        fn net_smpp_gets_mo() = cases::gets_mo;
        fn net_smpp_unbinds() = cases::unbinds;
        fn net_smpp_comes_back() = cases::comes_back;
    }
    RUSMPPC {
        fn rusmppc_binds() = cases::binds;
        fn rusmppc_submits() = cases::submits;
        fn rusmppc_submits_long_texts() = cases::submits_long_texts;
        fn rusmppc_gets_receipts() = cases::gets_receipts;
        fn rusmppc_gets_mo() = cases::gets_mo;
        fn rusmppc_unbinds() = cases::unbinds;
        fn rusmppc_comes_back() = cases::comes_back;
    }
    KANNEL {
        fn kannel_binds() = cases::binds;
        fn kannel_submits() = cases::submits;
        fn kannel_submits_long_texts() = cases::submits_long_texts;
        fn kannel_gets_receipts() = cases::gets_receipts;
        fn kannel_gets_mo() = cases::gets_mo;
        fn kannel_unbinds() = cases::unbinds;
        fn kannel_comes_back() = cases::comes_back;
    }
    NODE_OPERATOR {
        fn node_operator_is_bound_to() = operators::is_bound_to;
        fn node_operator_takes_messages() = operators::takes_messages;
        fn node_operator_takes_long_texts() = operators::takes_long_texts;
        fn node_operator_sends_receipts() = operators::sends_receipts;
        fn node_operator_sends_mo() = operators::sends_mo;
        fn node_operator_is_unbound() = operators::is_unbound;
        fn node_operator_is_come_back_to() = operators::is_come_back_to;
    }
    SMPP34_OPERATOR {
        fn smpp34_operator_is_bound_to() = operators::is_bound_to;
        fn smpp34_operator_takes_messages() = operators::takes_messages;
        fn smpp34_operator_takes_long_texts() = operators::takes_long_texts;
        fn smpp34_operator_sends_receipts() = operators::sends_receipts;
        fn smpp34_operator_sends_mo() = operators::sends_mo;
        fn smpp34_operator_is_unbound() = operators::is_unbound;
        fn smpp34_operator_is_come_back_to() = operators::is_come_back_to;
    }
}
