//! What an ESME asks and orders about its messages: one request after another, in the order in which
//! they came, beside the submissions.
//!
//! Those that mean messages by their addresses wait for the submissions before them and hold back
//! what comes after them, so that they see what the ESME thinks is there.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::EsmeSession;
use crate::actors::ingress::operations::{self, Asker, Replaced};
use crate::actors::session::bound::BoundProtocol as _;
use crate::cmpp::bodies::QueryResp;
use crate::pb::Message;
use crate::smpp::{
    Body, CancelSm, CommandId, CommandStatus, Pdu, QuerySm, ReplaceSm, SubmitSmResp,
};
use crate::telemetry::metrics::{OperationLabel, status_label};

/// Requests of one session that may wait before its socket is read again.
const MOST: usize = 64;

/// One request.
pub(super) enum Operation {
    Query(QuerySm),
    Cancel(CancelSm),
    Replace(ReplaceSm),
    /// submit_sm with replace_if_present_flag.
    SubmitOver(Box<Message>),
    /// CMPP_QUERY.
    CountDay(Pin<Box<dyn Future<Output = QueryResp>>>),
}

/// What waits, and whether one is being carried out.
#[derive(Default)]
pub(super) struct Operations {
    waiting: VecDeque<(u32, Operation)>,
    running: bool,
    /// The one that is being carried out holds back what follows.
    holding: bool,
}

/// What came of a request.
enum OperationResult {
    Answer(Box<Pdu>),
    Submit(Box<Message>),
    Counted(Box<QueryResp>),
}

// === impl Operation ===

impl Operation {
    fn name(&self) -> &'static str {
        match self {
            Self::Query(_) => "query_sm",
            Self::Cancel(_) => "cancel_sm",
            Self::Replace(_) => "replace_sm",
            Self::SubmitOver(_) => "submit_sm",
            Self::CountDay(_) => "cmpp_query",
        }
    }

    fn command_id(&self) -> CommandId {
        match self {
            Self::Query(_) | Self::CountDay(_) => CommandId::QUERY_SM,
            Self::Cancel(_) => CommandId::CANCEL_SM,
            Self::Replace(_) => CommandId::REPLACE_SM,
            Self::SubmitOver(_) => CommandId::SUBMIT_SM,
        }
    }

    /// Whether it means messages by what is the same in them.
    fn is_about_others(&self) -> bool {
        match self {
            Self::Cancel(cancel) => cancel.message_id.is_empty(),
            Self::SubmitOver(_) => true,
            Self::Query(_) | Self::Replace(_) | Self::CountDay(_) => false,
        }
    }

    async fn carry_out(self, asker: Asker, sequence: u32) -> OperationResult {
        let command_id = self.command_id();
        let result = match self {
            Self::Query(query) => operations::query_sm(&asker, &query)
                .await
                .map(Body::QuerySmResp),
            Self::Cancel(cancel) => operations::cancel_sm(&asker, &cancel)
                .await
                .map(|()| Body::CancelSmResp),
            Self::Replace(replace) => operations::replace_sm(&asker, &replace)
                .await
                .map(|()| Body::ReplaceSmResp),
            Self::CountDay(day) => return OperationResult::Counted(Box::new(day.await)),
            Self::SubmitOver(message) => {
                match operations::replace_present(&asker, *message).await {
                    Ok(Replaced::Nothing(message)) => return OperationResult::Submit(message),
                    Ok(Replaced::Old(id)) => Ok(Body::SubmitSmResp(SubmitSmResp {
                        message_id: id.into(),
                        ..SubmitSmResp::default()
                    })),
                    Err(status) => Err(status),
                }
            }
        };
        OperationResult::Answer(Box::new(match result {
            Ok(body) => Pdu::response(CommandStatus::ESME_ROK, sequence, body),
            Err(status) => {
                let body = Body::empty(command_id.response()).unwrap_or(Body::GenericNack);
                Pdu::response(status, sequence, body)
            }
        }))
    }
}

// === impl Operations ===

impl Operations {
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.running
    }

    /// Whether nothing more may be taken from the socket.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST || self.is_holding()
    }

    /// Whether what follows has to wait.
    pub(super) fn is_holding(&self) -> bool {
        self.holding || self.waiting.iter().any(|(_, one)| one.is_about_others())
    }
}

// === impl EsmeSession ===

impl EsmeSession {
    /// Takes a request in; it is answered when its turn has come.
    pub(super) fn operate(&mut self, sequence: u32, operation: Operation) {
        self.operations.waiting.push_back((sequence, operation));
    }

    /// Begins the next request, unless one is being carried out or has to wait for submissions.
    pub(super) fn next_operation(&mut self, ctx: &mut Context<Self>) {
        let Some(account) = &self.account else { return };
        let queue = &mut self.operations;
        if queue.running {
            return;
        }
        let waits = |(_, one): &(u32, Operation)| one.is_about_others();
        if queue.waiting.front().is_some_and(waits) && self.core.intake > 0 {
            return;
        }
        let Some((sequence, operation)) = queue.waiting.pop_front() else {
            return;
        };
        queue.running = true;
        queue.holding = operation.is_about_others();
        let asker = Asker {
            node: Arc::clone(&self.core.node),
            account: account.id,
            gsm: 0,
            interface_version: self.core.protocol.peer_version(),
            alphabet: self.alphabet,
            any_source: self.core.protocol.is_cmpp(),
        };
        let name = operation.name();
        let work = operation.carry_out(asker, sequence);
        ctx.spawn(work.into_actor(self).map(move |done, session, ctx| {
            session.operations.running = false;
            session.operations.holding = false;
            match done {
                OperationResult::Answer(answer) => session.answer_operation(name, &answer),
                OperationResult::Submit(message) => {
                    session.core.submit(sequence, *message);
                    session.flush(ctx);
                }
                OperationResult::Counted(resp) => {
                    (session.core)
                        .write(|protocol, out| protocol.answer_query(sequence, *resp, out));
                }
            }
            session.go_on(ctx);
        }));
    }

    fn answer_operation(&mut self, operation: &'static str, answer: &Pdu) {
        let label = OperationLabel {
            operation,
            status: status_label(answer.status.0).status,
        };
        let metrics = &self.core.node.metrics;
        metrics.operations.get_or_create(&label).inc();
        if !answer.status.is_ok() {
            self.core.snapshot.errors_total += 1;
        }
        self.core
            .write(|protocol, out| protocol.answer(answer, out));
    }
}
