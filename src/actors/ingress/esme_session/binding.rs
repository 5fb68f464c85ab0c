//! Who may bind: system_id, address, password, system_type, number of binds; and how the others are
//! refused.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::EsmeSession;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::bind_guard::BindRefusal;
use crate::actors::ingress::verifier::Busy;
use crate::actors::runtime::locks::lock;
use crate::actors::session::bind_permits;
use crate::actors::session::bound::BoundProtocol as _;
use crate::actors::session::core::LINGER;
use crate::clock;
use crate::domain::certificate::WantedCertificate;
use crate::smpp::session::{BindType, SessionState};
use crate::smpp::{BindRequest, CommandStatus};
use crate::store::logins::LoginRow;
use crate::telemetry::metrics::{ReasonLabel, status_label};

impl EsmeSession {
    pub(super) fn authenticate(
        &mut self,
        sequence: u32,
        bind_type: BindType,
        bind: BindRequest,
        ctx: &mut Context<Self>,
    ) {
        let plan = self.core.node.full_plan();
        let name = String::from_utf8_lossy(&bind.system_id).into_owned();
        let Some(account) = plan.account(&name).cloned() else {
            return self.refuse_unchecked(sequence, bind, BindRefusal::Unknown, ctx);
        };
        if !account.allow.allows(self.peer.ip()) {
            return self.refuse_unchecked(sequence, bind, BindRefusal::Address, ctx);
        }
        if !self.shows_one_of(&account.config.certificates) {
            return self.refuse_unchecked(sequence, bind, BindRefusal::Certificate, ctx);
        }
        let proven = self.core.protocol.proves(&account.config);
        let known = proven.or_else(|| self.gate.knows(&account.config, &bind.password));
        match known {
            Some(true) => return self.known(sequence, bind_type, bind, account, ctx),
            Some(false) => {
                return self.refuse_unchecked(sequence, bind, BindRefusal::Password, ctx);
            }
            None => {}
        }
        let gate = Arc::clone(&self.gate);
        let (peer, given) = (self.peer.ip(), bind.password.clone());
        let of = Arc::clone(&account);
        let verify = async move { gate.verify(peer, &of.config, given).await };
        // Nothing else of this socket is looked at before the verdict.
        ctx.spawn(
            verify
                .into_actor(self)
                .map(move |known, session, ctx| match known {
                    Ok(true) => session.known(sequence, bind_type, bind, account, ctx),
                    Ok(false) => {
                        let why = BindRefusal::Password;
                        session.refuse_for_identity(sequence, &bind.system_id, why, ctx);
                    }
                    Err(Busy) => session.refuse_for_now(sequence, &bind.system_id, ctx),
                }),
        );
    }

    /// Whether the client has shown one of these certificates; of none, any will do and none.
    fn shows_one_of(&self, certificates: &[String]) -> bool {
        certificates.is_empty()
            || self.certificate.as_ref().is_some_and(|shown| {
                let mut wanted = certificates
                    .iter()
                    .filter_map(|text| WantedCertificate::parse(text));
                wanted.any(|wanted| shown.is(&wanted))
            })
    }

    /// The peer is who he says; the account may still have no room for him.
    fn known(
        &mut self,
        sequence: u32,
        bind_type: BindType,
        bind: BindRequest,
        account: Arc<AccountPlan>,
        ctx: &mut Context<Self>,
    ) {
        // Its time to bind may have ended in the meantime.
        if self.core.protocol.state() != SessionState::Binding {
            return;
        }
        self.gate
            .bind_guard
            .forgive(self.peer.ip(), &bind.system_id);
        if let Some(wanted) = &account.config.system_type
            && !self.core.protocol.is_cmpp()
            && wanted.as_bytes() != &bind.system_type[..]
        {
            return self.refuse(sequence, CommandStatus::ESME_RINVSYSTYP, ctx);
        }
        if bind_permits::admit_now(&self.core.node, self.core.port.session, &account) {
            return self.admitted(sequence, bind_type, account, ctx);
        }
        let node = Arc::clone(&self.core.node);
        let session = self.core.port.session;
        let admit = async move {
            let admitted = bind_permits::admit(&node, session, &account).await;
            (account, admitted)
        };
        ctx.wait(
            admit
                .into_actor(self)
                .map(move |(account, admitted), session, ctx| match admitted {
                    Ok(permit) => {
                        session.permit = permit;
                        session.admitted(sequence, bind_type, account, ctx);
                    }
                    Err(()) => {
                        let system_id = &account.config.system_id;
                        let most = account.config.max_binds;
                        if session.gate.bind_guard.may_log(session.peer.ip()) {
                            tracing::warn!(%system_id, peer = %session.peer, most, "bind refused: too many binds");
                        }
                        session.refuse(sequence, CommandStatus::ESME_RALYBND, ctx);
                    }
                }),
        );
    }

    fn admitted(
        &mut self,
        sequence: u32,
        bind_type: BindType,
        account: Arc<AccountPlan>,
        ctx: &mut Context<Self>,
    ) {
        let system_id = &account.config.system_id;
        tracing::info!(%system_id, peer = %self.peer, bind = bind_type.name(), "bound");
        self.core.snapshot.name = system_id.clone();
        self.core.snapshot.bind_type = bind_type.name().to_owned();
        self.core.snapshot.since = clock::now_ms();
        self.core.node.logins.note(LoginRow {
            account: system_id.clone(),
            at: self.core.snapshot.since,
            address: self.peer.ip().to_string(),
            bind_type: bind_type.name().to_owned(),
            node: self.core.node.ids.node(),
        });
        self.core
            .protocol
            .set_window(account.config.window as usize);
        if let Some(version) = account.config.interface_version {
            self.core.protocol.set_peer_version(version.into());
        }
        if let Some(admitted) = &mut self.admitted {
            admitted.bound();
        }
        let now = Instant::now().into_std();
        self.core.write(|protocol, out| {
            protocol.accept_bind(now, sequence, &account.config, out);
        });
        if bind_type.receives()
            && let Some(queue) = self.core.node.queue(account.id)
        {
            let addr = ctx.address();
            *lock(&self.core.port.alerts) = Some(addr.clone().recipient());
            if account.config.deliver_by.by_bind() {
                self.core.join(queue, &addr);
            }
        }
        self.account = Some(account);
        self.judge_strictly();
        self.publish();
    }

    fn refuse(&mut self, sequence: u32, status: CommandStatus, ctx: &mut Context<Self>) {
        self.reject(sequence, status);
        if self.core.protocol.state() == SessionState::Closed {
            return self.end();
        }
        // The peer may try again on this connection, but not for ever.
        ctx.run_later(LINGER, |session, _| {
            if session.core.protocol.state() == SessionState::Open {
                session.close();
            }
        });
    }

    fn reject(&mut self, sequence: u32, status: CommandStatus) {
        let label = status_label(status.0);
        let binds_refused = &self.core.node.metrics.binds_refused;
        binds_refused.get_or_create(&label).inc();
        self.core
            .write(|protocol, out| protocol.reject_bind(sequence, status, out));
    }

    /// Refuses what no password is checked for, as late as if one had been: the time must not tell whether there is such
    /// an account.
    fn refuse_unchecked(
        &mut self,
        sequence: u32,
        bind: BindRequest,
        why: BindRefusal,
        ctx: &mut Context<Self>,
    ) {
        let gate = Arc::clone(&self.gate);
        let hash = self.core.node.full_plan().any_password_hash.clone();
        let peer = self.peer.ip();
        let pretend = async move { gate.pretend(peer, hash).await };
        ctx.spawn(
            pretend
                .into_actor(self)
                .map(move |waited, session, ctx| match waited {
                    Ok(()) => session.refuse_for_identity(sequence, &bind.system_id, why, ctx),
                    Err(Busy) => session.refuse_for_now(sequence, &bind.system_id, ctx),
                }),
        );
    }

    /// Refuses who is not, or cannot show that he is, who may bind: later and later, and once for each
    /// connection. Until it is answered the connection counts as one of its address that has not bound,
    /// also when the peer has gone.
    fn refuse_for_identity(
        &mut self,
        sequence: u32,
        system_id: &[u8],
        why: BindRefusal,
        ctx: &mut Context<Self>,
    ) {
        if self.core.protocol.state() != SessionState::Binding {
            return;
        }
        self.count_refusal(why.reason());
        let config = self.core.node.config();
        let peer = self.peer;
        let door = &self.gate.bind_guard;
        let delay = door.refuse(&config.smpp, peer.ip(), system_id);
        if door.may_log(peer.ip()) {
            let system_id = String::from_utf8_lossy(system_id);
            tracing::warn!(%system_id, %peer, delay_ms = delay.as_millis() as u64, "bind refused: {}", why.text());
        }
        let status = why.status(config.smpp.bind_refusals);
        if delay.is_zero() {
            return self.dismiss(sequence, status);
        }
        ctx.run_later(delay, move |session, _| session.dismiss(sequence, status));
    }

    /// Answers a bind and ends the session.
    fn dismiss(&mut self, sequence: u32, status: CommandStatus) {
        if self.core.protocol.state() == SessionState::Binding {
            self.reject(sequence, status);
            self.core.protocol.finish();
            self.end();
        }
    }

    /// Too many passwords wait to be checked: nobody knows yet whether this one is right.
    fn refuse_for_now(&mut self, sequence: u32, system_id: &[u8], ctx: &mut Context<Self>) {
        if self.core.protocol.state() != SessionState::Binding {
            return;
        }
        self.count_refusal("busy");
        if self.gate.bind_guard.may_log(self.peer.ip()) {
            let system_id = String::from_utf8_lossy(system_id);
            tracing::warn!(%system_id, peer = %self.peer, "bind refused: too many passwords wait to be checked");
        }
        let smpp = &self.core.node.config().smpp;
        let delay = self.gate.bind_guard.no_room(smpp, self.peer.ip());
        ctx.run_later(delay, move |session, ctx| {
            if session.core.protocol.state() == SessionState::Binding {
                session.refuse(sequence, CommandStatus::ESME_RSYSERR, ctx);
            }
        });
    }

    fn count_refusal(&self, reason: &'static str) {
        let metrics = &self.core.node.metrics;
        let label = ReasonLabel { reason };
        metrics.binds_refused_by_reason.get_or_create(&label).inc();
    }
}
