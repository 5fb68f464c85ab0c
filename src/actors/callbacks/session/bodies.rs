//! From a grant to the body of a callback, made from what the store has.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::outcome::{SUPERSEDED, UNREADABLE};
use super::state::{CallbackScope, CallbackSession, ReadyCallback};
use super::told::{self, Told};
use crate::actors::callbacks::body::{EndedMessage, ReachedState, ShownNames};
use crate::actors::callbacks::form::{self, Callback};
use crate::actors::context::plan::{AccountPlan, Plan, form_of};
use crate::actors::context::traced::TracedAttempt;
use crate::actors::receipts::{self, receipt};
use crate::actors::session::bound::InFlight;
use crate::content;
use crate::domain::callback::pace::LONGEST_REST;
use crate::domain::callback::states;
use crate::domain::queue_name::QueueName;
use crate::pb::delivery::What;
use crate::pb::{CallbackForm, ClientData, Delivery, Message, StateReport};
use crate::store::StoreError;

impl CallbackSession {
    /// Makes the bodies of what was granted, in order, all that has gathered at once.
    pub(super) fn load(&mut self, ctx: &mut Context<Self>) {
        if self.granted.is_empty() || !self.loading.is_empty() {
            return;
        }
        let granted = std::mem::take(&mut self.granted);
        self.loading = granted.iter().map(|one| one.id).collect();
        let wanted: Vec<_> = granted.iter().filter_map(told_by).collect();
        if wanted.is_empty() {
            return self.loaded(granted, Some(Vec::new()), ctx);
        }
        let node = Arc::clone(&self.node);
        let load = async move { told::load(&node, wanted).await };
        ctx.spawn(load.into_actor(self).map(move |stored, session, ctx| {
            session.loaded(granted, stored, ctx);
        }));
    }

    fn loaded(
        &mut self,
        granted: Vec<Delivery>,
        stored: Option<Vec<Option<Result<Told, StoreError>>>>,
        ctx: &mut Context<Self>,
    ) {
        self.loading.clear();
        let Some(stored) = stored else {
            // The store will not answer any more: everything is granted again.
            for delivery in granted {
                self.give_back(delivery.id, delivery.attempt);
            }
            return self.go_on();
        };
        let mut stored = stored.into_iter();
        let plan = self.node.full_plan();
        for delivery in granted {
            let found = match told_by(&delivery) {
                Some(_) => stored.next().flatten(),
                None => None,
            };
            self.prepare(&plan, delivery, found);
        }
        self.go_on();
        self.load(ctx);
    }

    /// Makes the body of one delivery.
    fn prepare(
        &mut self,
        plan: &Plan,
        delivery: Delivery,
        stored: Option<Result<Told, StoreError>>,
    ) {
        let (what, id, attempt) = (delivery.what(), delivery.id, delivery.attempt);
        let (Some(message), Some(account)) = (delivery.message, self.plan.clone()) else {
            return self.give_back(id, attempt);
        };
        let context = InFlight {
            id,
            attempt,
            what,
            since: message.waits_since(),
            traced: TracedAttempt::begin(&self.node, self.queue.id, &message, what, attempt),
            ..InFlight::default()
        };
        let stored = match stored.transpose() {
            Ok(stored) => stored,
            Err(error) => return self.set_aside(&context, &error),
        };
        let is_copy = content::is_receipt_copy(&message);
        let callback = match (what, stored) {
            (_, Some(told)) => match content::state_report(&message) {
                Some(report) if !self.is_next(report, &told) => return self.pass_over(&context),
                Some(report) => self.state(plan, &account, &told.stored.message, report, &message),
                None => {
                    self.ends(&told);
                    self.receipt(plan, &account, &told)
                }
            },
            (What::Message, None) if is_copy => Err("its message is not kept any more".to_owned()),
            (What::Message, None) => incoming(plan, &account, &message),
            // The store cannot be read: it is granted again.
            (What::Receipt, None) => return self.give_back(id, attempt),
        };
        match callback {
            // Of a receipt, too, it is the subscriber: its addresses are swapped.
            Ok(callback) => {
                let subscriber = message.source.clone();
                self.take_up(subscriber, ReadyCallback { context, callback });
            }
            Err(reason) => {
                self.served.note(|serving| {
                    serving.give_up(&context, None, Duration::ZERO, reason, String::new());
                });
            }
        }
    }
}

impl CallbackSession {
    /// Whether a state may still be sent: no later one of its message was, or is known when this one comes from the
    /// store, where it may have waited for long.
    fn is_next(&mut self, report: &StateReport, told: &Told) -> bool {
        let rank = states::rank(receipts::states::bit(report.state()), report.attempt);
        let is_known = !report.in_order && told.is_past(&self.node, report);
        !is_known && self.latest.advance(told.stored.message.id, rank)
    }

    /// No state of this message may follow.
    fn ends(&mut self, told: &Told) {
        let message = &told.stored.message;
        if states::any(message.report_states) {
            self.latest.advance(message.id, states::FINAL_RANK);
        }
    }

    /// A state that is out of date is done without having been sent.
    fn pass_over(&mut self, context: &InFlight) {
        self.count_as(SUPERSEDED);
        self.served.note(|serving| serving.passed_over(context));
    }

    /// The history of one message cannot be read: its callback comes again after a pause, and others go on.
    fn set_aside(&mut self, context: &InFlight, error: &StoreError) {
        tracing::warn!(
            queue = %self.queue.name,
            id = context.id,
            %error,
            "a callback is set aside for a minute: the history of its message cannot be read"
        );
        self.count_as(UNREADABLE);
        self.served
            .note(|serving| serving.held_up(context, LONGEST_REST));
    }

    /// The callback that brings a state; `deliver` is the same for a bind.
    fn state(
        &self,
        plan: &Plan,
        account: &AccountPlan,
        message: &Message,
        report: &StateReport,
        deliver: &Message,
    ) -> Result<Callback, String> {
        let reached = ReachedState {
            message,
            report,
            deliver,
        };
        let callback = self
            .way_of(account, message)?
            .state(reached, names(plan, account, report.operator))?;
        self.at_its_host(message, callback)
    }

    fn way_of<'a>(
        &self,
        account: &'a AccountPlan,
        message: &'a Message,
    ) -> Result<form::ReceiverInterface<'a>, String> {
        match &self.way {
            CallbackScope::Own | CallbackScope::Second => Ok(own(account)),
            CallbackScope::Host(_) => named(account, message),
        }
    }

    fn at_its_host(&self, message: &Message, callback: Callback) -> Result<Callback, String> {
        let client = message.client_data.as_deref();
        let form = client.map_or(CallbackForm::Standard, ClientData::callback_form);
        match &self.way {
            // A value in the place of an escape may have changed it. In our own form there are none: there, only the URL
            // of a name may have changed.
            CallbackScope::Host(host)
                if form != CallbackForm::Standard && host != callback.target.host() =>
            {
                Err("the callback is not at the host that was allowed".to_owned())
            }
            _ => Ok(callback),
        }
    }

    fn receipt(&self, plan: &Plan, account: &AccountPlan, told: &Told) -> Result<Callback, String> {
        let fin = told.stored.fin.as_ref().ok_or("it has no final state")?;
        let message = &told.stored.message;
        let way = self.way_of(account, message)?;
        let deliver = match way.form {
            // Its body says the same in fields.
            CallbackForm::Standard => Message::default(),
            _ => receipt::receipt_for(&self.node, message, fin),
        };
        let ended = EndedMessage {
            message,
            fin,
            deliver: &deliver,
            attempts: &told.attempts,
        };
        let callback = way.receipt(ended, names(plan, account, fin.operator))?;
        self.at_its_host(message, callback)
    }
}

/// The message whose state a delivery brings, if it brings one, and that state if it is not the final one.
fn told_by(delivery: &Delivery) -> Option<(u64, Option<StateReport>)> {
    match (delivery.what(), delivery.message.as_deref()) {
        (What::Receipt, _) => Some((delivery.id, None)),
        (What::Message, Some(message)) if content::is_receipt_copy(message) => {
            let copied = message.copied.as_deref();
            copied.map(|copied| (copied.of, copied.report.clone()))
        }
        (What::Message, _) => None,
    }
}

/// The account's own way for receipts.
fn own(account: &AccountPlan) -> form::ReceiverInterface<'_> {
    let config = &account.config;
    let url = config.callback_receipt_url.as_deref();
    form::ReceiverInterface {
        form: form_of(config),
        url: url.or(config.callback_url.as_deref()).unwrap_or_default(),
    }
}

/// What the message has named.
fn named<'a>(
    account: &'a AccountPlan,
    message: &'a Message,
) -> Result<form::ReceiverInterface<'a>, String> {
    let client = message.client_data.as_deref();
    let client = client.ok_or("it names no callback")?;
    Ok(form::ReceiverInterface {
        form: client.callback_form(),
        url: stored_url(account, &client.callback)?,
    })
}

fn stored_url<'a>(account: &'a AccountPlan, callback: &'a str) -> Result<&'a str, String> {
    let url = account.callbacks.url(callback);
    url.ok_or_else(|| format!("there is no callback {callback:?} any more"))
}

fn incoming(plan: &Plan, account: &AccountPlan, message: &Message) -> Result<Callback, String> {
    let names = names(plan, account, message.sender);
    let ruled = message.ruled_by.as_deref();
    let way = match ruled.map_or("", |ruled| &ruled.callback) {
        "" => form::ReceiverInterface {
            form: form_of(&account.config),
            url: account.config.callback_url.as_deref().unwrap_or_default(),
        },
        // Its rule has named one of those that are stored, which are in the standard form.
        name => form::ReceiverInterface {
            form: CallbackForm::Standard,
            url: stored_url(account, name)?,
        },
    };
    // A copy brings the original, under its id.
    let original = message.copied.as_deref().map(|copied| Message {
        id: copied.of,
        ..message.clone()
    });
    let message = original.as_ref().unwrap_or(message);
    way.incoming(message, &account.rewrite_out, names)
}

fn names<'a>(plan: &'a Plan, account: &'a AccountPlan, operator: u32) -> ShownNames<'a> {
    ShownNames {
        account: &account.config.system_id,
        operator: QueueName::parse(plan.name_of(operator)).id(),
    }
}
