//! Connecting to the HLR, and what happens when that fails or ends.

use super::*;

impl GsmInterface {
    pub(super) fn connect(&mut self, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.state(BindState::Connecting);
        #[cfg(test)]
        if let Some(pipe) = super::tests::next_pipe() {
            return self.connected(Wire::Memory(pipe), "a test".to_owned(), ctx);
        }
        let smpp = self.node.config().smpp.clone();
        let within = plan.config.connect_timeout;
        let node = Arc::clone(&self.node);
        let dial = async move {
            if plan.config.is_local() {
                let role = format!("gsm:{}", plan.config.name);
                return local_peer::connect(&node, &role).await;
            }
            let address = plan.config.hlr();
            let connected = tokio::time::timeout(within, TcpStream::connect(&address)).await;
            let socket = match connected {
                Ok(connected) => connected.map_err(|error| format!("connect: {error}"))?,
                Err(_) => return Err("connect: no connection in time".to_owned()),
            };
            tune(&socket, &smpp);
            let peer = socket.peer_addr();
            let peer = peer.map_or(address, |peer| peer.to_string());
            Ok((Wire::Plain(socket), peer))
        };
        ctx.spawn(
            dial.into_actor(self)
                .map(|connected, interface, ctx| match connected {
                    Ok((wire, peer)) => interface.connected(wire, peer, ctx),
                    Err(why) => interface.come_back(&why, ctx),
                }),
        );
    }

    fn connected(&mut self, wire: Wire, peer: String, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.snapshot.peer = peer;
        let outbox = wire.attach(ctx, WRITE_LIMIT);
        let config = session_config(&self.node, Some(&plan));
        let now = Instant::now().into_std();
        self.gsup = outbox.write(|out| Session::new(config, now, out));
        self.outbox = Some(outbox);
        self.state(BindState::Binding);
    }

    /// The HLR has taken our name.
    pub(super) fn ready(&mut self, ctx: &mut Context<Self>) {
        self.failures = 0;
        self.snapshot.reconnect_attempts = 0;
        self.snapshot.next_reconnect_at = 0;
        self.snapshot.last_error.clear();
        self.snapshot.since = clock::now_ms();
        let ipa_name = String::from_utf8_lossy(self.gsup.name()).into_owned();
        tracing::info!(gsm = %self.snapshot.name, peer = %self.snapshot.peer, %ipa_name, session = self.port.session, "connected to the HLR");
        self.join(ctx);
        self.state(BindState::Bound);
    }

    pub(super) fn tick(&mut self, ctx: &mut Context<Self>) {
        if !self.node.local_lease.is_valid() {
            // Another node may take what this one has: not even the answers are ours to wait for.
            return self.come_back("this node's lease is over", ctx);
        }
        if self.follow_plan(ctx) {
            return;
        }
        if let Some(outbox) = self.outbox.clone() {
            let (gsup, now) = (&mut self.gsup, Instant::now().into_std());
            let tick = outbox.write(|out| gsup.on_tick(now, out));
            for sending in tick.expired {
                self.expired(*sending);
            }
            if let Some(closed) = tick.closed {
                return self.come_back(&closed.to_string(), ctx);
            }
            if outbox.is_over() {
                return self.come_back("the HLR does not read", ctx);
            }
        }
        self.forget_given_up();
        if self.absent.len() > 0 {
            self.absent.forget_old(Instant::now());
        }
        let draining = self.node.draining.load(Ordering::Relaxed);
        if draining || self.plan.is_none() {
            return self.finish(ctx);
        }
        if self.retired {
            // Its queue was told that it takes no more; only a new connection takes that back.
            return self.come_back("wanted again while it was leaving", ctx);
        }
        if self.is_suspended() {
            self.give_back_waiting(|_| true);
        }
        self.go_on();
        self.publish();
    }

    /// Takes the newest plan; true when the connection has to be made anew for it.
    fn follow_plan(&mut self, ctx: &mut Context<Self>) -> bool {
        let newest = self.node.plan().gsm(self.options.gsm).cloned();
        let is_alike = match (&self.plan, &newest) {
            (Some(before), Some(newest)) => {
                let (before, newest) = (&before.config, &newest.config);
                before.hlr() == newest.hlr()
                    && before.ipa_name == newest.ipa_name
                    && before.request_timeout == newest.request_timeout
                    && before.ping_interval == newest.ping_interval
                    && before.ping_timeout == newest.ping_timeout
            }
            _ => true,
        };
        self.plan = newest;
        if !is_alike {
            self.failures = 0;
            self.come_back("connected anew for a new configuration", ctx);
        }
        !is_alike
    }

    /// On the way out: takes no more, and ends when what is under way is answered, or its time is over.
    fn finish(&mut self, ctx: &mut Context<Self>) {
        if !std::mem::replace(&mut self.retired, true)
            && let Some(serving) = &self.serving
        {
            serving.retire();
        }
        self.give_back_waiting(|_| true);
        self.go_on();
        let since = *self.leaving_since.get_or_insert_with(Instant::now);
        let is_over = since.elapsed() >= self.node.config().smpp.drain_timeout;
        if is_over || (self.under_way.is_empty() && self.intake == 0) {
            self.leave();
            self.state(BindState::Closed);
            self.health.after_stop(AfterStop::End);
            ctx.stop();
        }
    }

    /// Stops until an administrator resumes it.
    pub(super) fn pause(&mut self, ctx: &mut Context<Self>) {
        self.leave();
        self.failures = 0;
        self.snapshot.last_error = "suspended by an administrator".to_owned();
        self.state(BindState::Paused);
        self.health.after_stop(AfterStop::Again(None));
        ctx.stop();
    }

    /// Stops, to be started again by supervision after the next pause.
    pub(super) fn come_back(&mut self, why: &str, ctx: &mut Context<Self>) {
        let pause = self.next_pause();
        if self.snapshot.last_error != why {
            tracing::warn!(gsm = %self.snapshot.name, why, "not connected to the HLR");
        }
        self.snapshot.last_error = why.to_owned();
        self.snapshot.reconnect_attempts = self.failures;
        self.node.metrics.binds_lost.inc();
        self.leave();
        self.snapshot.next_reconnect_at = clock::now_ms() + pause.as_millis() as i64;
        self.state(BindState::Waiting);
        self.health.after_stop(AfterStop::Again(Some(pause)));
        ctx.stop();
    }

    fn next_pause(&mut self) -> Duration {
        let pauses = self.plan.as_ref().map(|plan| &plan.config.reconnect[..]);
        self.failures += 1;
        reconnect_after(pauses.unwrap_or_default(), self.failures)
    }

    /// Gives the connection up, and everything back, in order: what is under way with an unknown outcome. Idempotent.
    pub(super) fn leave(&mut self) {
        if let Some(outbox) = self.outbox.take() {
            outbox.cut();
        }
        self.tell_sent();
        let mut lost: Vec<Sending> = self.gsup.take_lost().into_iter().map(|one| *one).collect();
        lost.retain(|sending| !sending.work.is_answer());
        lost.sort_by_key(|sending| sending.work.context.id);
        if let Some(mut serving) = self.serving.take() {
            for Sending { work, .. } in &lost {
                if work.arrived > 0 && self.partly.len() < PARTLY {
                    self.partly.insert(work.context.id, work.arrived);
                }
                serving.lost(&work.context);
            }
            for work in self.lines.take_if(|work| !work.is_answer()) {
                serving.give_back(work.context.id, work.context.attempt);
            }
            serving.settle(0);
        }
        self.lines = Lines::default();
        self.under_way.clear();
        self.unwritten.clear();
        self.given_up.clear();
        self.faults = Faults::default();
        self.submissions.clear();
        self.intake = 0;
        self.storing.clear();
        self.looking = 0;
        self.offered = 0;
        self.leaving_since = None;
    }
}
