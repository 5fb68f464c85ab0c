//! Who may bind: system_id, address, system_type, password, number of binds.

use super::*;
use crate::actors::ports::lock;

impl EsmeSession {
    pub(super) fn authenticate(
        &mut self,
        sequence: u32,
        bind_type: BindType,
        bind: Bind,
        ctx: &mut Context<Self>,
    ) {
        let plan = self.hub.full_plan();
        let name = String::from_utf8_lossy(&bind.system_id).into_owned();
        let Some(account) = plan.account(&name).cloned() else {
            tracing::warn!(system_id = %name, peer = %self.peer, "bind refused: unknown system_id");
            self.refuse(sequence, CommandStatus::ESME_RINVSYSID, ctx);
            return;
        };
        if !account.allow.allows(self.peer.ip()) {
            tracing::warn!(system_id = %name, peer = %self.peer, "bind refused: address not allowed");
            self.refuse(sequence, CommandStatus::ESME_RBINDFAIL, ctx);
            return;
        }
        if let Some(wanted) = &account.config.system_type
            && wanted.as_bytes() != &bind.system_type[..]
        {
            self.refuse(sequence, CommandStatus::ESME_RINVSYSTYP, ctx);
            return;
        }
        let stored = account.config.password.clone();
        if let Some(known) =
            self.hub
                .passwords
                .verify_cached(&name, stored.expose_secret(), &bind.password)
        {
            self.verdict(known, sequence, bind_type, account, ctx);
            return;
        }
        let hub = Arc::clone(&self.hub);
        let verify = tokio::task::spawn_blocking(move || {
            hub.passwords
                .verify(&name, stored.expose_secret(), &bind.password)
        });
        // Nothing else of this socket is looked at before the verdict.
        ctx.wait(verify.into_actor(self).map(move |known, session, ctx| {
            session.verdict(known.unwrap_or(false), sequence, bind_type, account, ctx);
        }));
    }

    fn verdict(
        &mut self,
        known: bool,
        sequence: u32,
        bind_type: BindType,
        account: Arc<AccountPlan>,
        ctx: &mut Context<Self>,
    ) {
        let system_id = &account.config.system_id;
        if !known {
            tracing::warn!(%system_id, peer = %self.peer, "bind refused: wrong password");
            return self.refuse(sequence, CommandStatus::ESME_RINVPASWD, ctx);
        }
        if seats::admit_now(&self.hub, self.port.session, &account) {
            return self.admitted(sequence, bind_type, account, ctx);
        }
        let hub = Arc::clone(&self.hub);
        let session = self.port.session;
        let admit = async move {
            let admitted = seats::admit(&hub, session, &account).await;
            (account, admitted)
        };
        ctx.wait(
            admit
                .into_actor(self)
                .map(move |(account, admitted), session, ctx| match admitted {
                    Ok(seat) => {
                        session.seat = seat;
                        session.admitted(sequence, bind_type, account, ctx);
                    }
                    Err(()) => {
                        let system_id = &account.config.system_id;
                        let most = account.config.max_binds;
                        tracing::warn!(%system_id, peer = %session.peer, most, "bind refused: too many binds");
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
        self.snapshot.name = system_id.clone();
        self.snapshot.bind_type = bind_type.name().to_owned();
        self.snapshot.since = clock::now_ms();
        self.core.set_window(account.config.window as usize);
        self.write(|core, out| core.accept_bind(Instant::now().into_std(), sequence, out));
        if bind_type.receives()
            && let Some(queue) = self.hub.queue(account.id)
        {
            let addr = ctx.address();
            *lock(&self.port.alerts) = Some(addr.clone().recipient());
            self.serving = Some(Serving::join(
                &self.hub,
                self.port.session,
                queue,
                addr.clone().recipient(),
                addr.recipient(),
                self.core.room(),
                &self.snapshot.peer,
            ));
        }
        self.account = Some(account);
        self.judge_strictly();
        self.publish();
    }

    fn refuse(&mut self, sequence: u32, status: CommandStatus, ctx: &mut Context<Self>) {
        self.hub
            .metrics
            .binds_refused
            .get_or_create(&status_label(status.0))
            .inc();
        self.write(|core, out| core.reject_bind(sequence, status, out));
        // The peer may try again on this connection, but not for ever.
        ctx.run_later(LINGER, |session, _| {
            if session.core.state() == State::Open {
                session.close();
            }
        });
    }
}
