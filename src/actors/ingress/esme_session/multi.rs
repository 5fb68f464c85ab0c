//! submit_multi: one text to many, as one durable batch (SMPP 3.4 §4.5).
//!
//! Each destination is a message of its own, with a receipt of its own; the sender knows all of them
//! by the id of the answer, and which is which by the address. Destinations that are refused stand in
//! the answer with their status.

use std::collections::HashSet;

use actix::Context;
use bytes::Bytes;

use super::EsmeSession;
use crate::actors::receipts::shown_id::IdNotation;
use crate::config::DistributionLists;
use crate::content::door::ADDRESS;
use crate::domain::address::{normalise, plain};
use crate::domain::rewrite::TypedAddress;
use crate::pb::{Message, Submission, SubmitBatch, SubmitReply, SubmitResult};
use crate::smpp::{
    Body, CommandId, CommandStatus, DestAddress, Pdu, SubmitMulti, SubmitMultiResp, SubmitSm, Tlvs,
    UnsuccessSme, tag,
};

/// Most destinations after distribution lists are unfolded: ids of one batch follow one another.
const MOST: usize = 4_000;
/// Members of distribution lists are international numbers.
const INTERNATIONAL: u8 = 1;
const ISDN: u8 = 1;

/// One request whose destinations are on their way.
pub(super) struct Multi {
    sequence: u32,
    destinations: Vec<TypedAddress>,
    failures: Vec<UnsuccessSme>,
    submissions: Vec<Submission>,
}

/// A destination that was refused, as the answer has room for it: it names one whose address is too long, too.
fn failed(to: &TypedAddress, status: CommandStatus) -> UnsuccessSme {
    UnsuccessSme {
        dest_addr_ton: to.ton,
        dest_addr_npi: to.npi,
        destination_addr: to.digits.slice(..to.digits.len().min(ADDRESS)),
        error_status_code: status,
    }
}

/// Unfolds distribution lists; who is named twice gets one message. A list that is not there is a
/// failure under its name.
fn unfold(
    wanted: Vec<DestAddress>,
    lists: &DistributionLists,
) -> Result<(Vec<TypedAddress>, Vec<UnsuccessSme>), CommandStatus> {
    let mut found: Vec<TypedAddress> = Vec::with_capacity(wanted.len());
    let mut failures = Vec::new();
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut add = |one: TypedAddress| {
        if seen.insert(plain(&one.digits).into_owned()) {
            found.push(one);
        }
    };
    for destination in wanted {
        match destination {
            DestAddress::Sme {
                dest_addr_ton,
                dest_addr_npi,
                destination_addr,
            } => add(TypedAddress {
                ton: dest_addr_ton,
                npi: dest_addr_npi,
                digits: destination_addr,
            }),
            DestAddress::DistributionList { dl_name } => {
                let name = String::from_utf8_lossy(&dl_name);
                match lists.members(&name) {
                    Some(members) => members.iter().for_each(|member| {
                        add(TypedAddress {
                            ton: INTERNATIONAL,
                            npi: ISDN,
                            digits: Bytes::copy_from_slice(normalise(member.as_bytes())),
                        });
                    }),
                    None => {
                        let unknown = TypedAddress {
                            digits: dl_name.clone(),
                            ..TypedAddress::default()
                        };
                        failures.push(failed(&unknown, CommandStatus::ESME_RINVDLNAME));
                    }
                }
            }
        }
    }
    match found.len() {
        ..=MOST => Ok((found, failures)),
        _ => Err(CommandStatus::ESME_RINVNUMDESTS),
    }
}

// === impl Multi ===

impl Multi {
    /// The answer: what was refused, and the id by which the sender knows the rest.
    fn answer(self, results: &[SubmitResult], form: IdNotation, congestion: Option<u8>) -> Pdu {
        let mut failures = self.failures;
        for result in results.iter().filter(|result| result.status != 0) {
            if let Some(destination) = self.destinations.get(result.sequence as usize) {
                failures.push(failed(destination, CommandStatus(result.status)));
            }
        }
        let accepted = results.iter().filter(|result| result.status == 0);
        let Some(first) = accepted.map(|result| result.id).min() else {
            let status = failures
                .first()
                .map_or(CommandStatus::ESME_RSUBMITFAIL, |failure| {
                    failure.error_status_code
                });
            let body = Body::SubmitMultiResp(SubmitMultiResp::default());
            return Pdu::response(status, self.sequence, body);
        };
        let mut tlvs = Tlvs::default();
        if let Some(congestion) = congestion {
            tlvs.push(tag::CONGESTION_STATE, &[congestion]);
        }
        let body = Body::SubmitMultiResp(SubmitMultiResp {
            message_id: form.text(first).into(),
            unsuccess_sme: failures,
            tlvs,
        });
        Pdu::response(CommandStatus::ESME_ROK, self.sequence, body)
    }
}

// === impl EsmeSession ===

impl EsmeSession {
    pub(super) fn submit_multi(&mut self, sequence: u32, mut multi: SubmitMulti) {
        let wanted = std::mem::take(&mut multi.dest_address);
        let template = self.carried(submit_sm_of(multi), None);
        self.submit_to_each(sequence, wanted, &template);
    }

    /// Takes a message to many in; it leaves with what else this socket read brought.
    pub(super) fn submit_to_each(
        &mut self,
        sequence: u32,
        wanted: Vec<DestAddress>,
        template: &Message,
    ) {
        let Some(account) = &self.account else { return };
        let (destinations, failures) = match unfold(wanted, &account.config.lists) {
            Ok(unfolded) => unfolded,
            Err(status) => return self.refuse_multi(sequence, status),
        };
        let submissions = destinations
            .iter()
            .enumerate()
            .map(|(at, one)| Submission {
                sequence: at as u32,
                message: Some(Box::new(Message {
                    dest_ton: u32::from(one.ton),
                    dest_npi: u32::from(one.npi),
                    destination: one.digits.clone(),
                    ..template.clone()
                })),
            })
            .collect();
        self.multis.push(Multi {
            sequence,
            destinations,
            failures,
            submissions,
        });
    }

    /// Hands each to Ingest as a batch of its own; the answers follow the commits.
    pub(super) fn flush_multis(&mut self, ctx: &mut Context<Self>) {
        let Some(sender) = self.account.as_ref().map(|account| account.id) else {
            return;
        };
        for mut multi in std::mem::take(&mut self.multis) {
            let batch = SubmitBatch {
                sender,
                submissions: std::mem::take(&mut multi.submissions),
                peer: self.core.snapshot.peer.clone(),
                group: true,
                alphabet: self.alphabet.map(Into::into),
                alphabet_is_fixed: self.core.protocol.is_cmpp(),
                ..SubmitBatch::default()
            };
            let arriving = self.core.arriving(sender, &batch.submissions);
            self.hand_over(batch, arriving, ctx, move |session, reply| match reply {
                Some(SubmitReply { results }) => {
                    let congestion = session.congestion(results);
                    let answer = multi.answer(results, session.id_form(), congestion);
                    session
                        .core
                        .write(|protocol, out| protocol.answer(&answer, out));
                }
                None => session.refuse_multi(multi.sequence, CommandStatus::ESME_RSYSERR),
            });
        }
    }

    fn refuse_multi(&mut self, sequence: u32, status: CommandStatus) {
        self.core.write(|protocol, out| {
            protocol.refuse(CommandId::SUBMIT_MULTI, sequence, status, out);
        });
    }
}

/// What all destinations have in common. replace_if_present_flag is not for many (§4.5.1).
fn submit_sm_of(multi: SubmitMulti) -> SubmitSm {
    SubmitSm {
        service_type: multi.service_type,
        source_addr_ton: multi.source_addr_ton,
        source_addr_npi: multi.source_addr_npi,
        source_addr: multi.source_addr,
        esm_class: multi.esm_class,
        protocol_id: multi.protocol_id,
        priority_flag: multi.priority_flag,
        schedule_delivery_time: multi.schedule_delivery_time,
        validity_period: multi.validity_period,
        registered_delivery: multi.registered_delivery,
        data_coding: multi.data_coding,
        sm_default_msg_id: multi.sm_default_msg_id,
        short_message: multi.short_message,
        tlvs: multi.tlvs,
        ..SubmitSm::default()
    }
}
