//! The kinds of resources: what each is called by, and where a configuration has them.

use serde_json::Value as Json;

use super::secrets::{account_body, one_of, operator_body};
use super::{kept, own_name};
use crate::problem::ConfigProblem;
use crate::setting::Setting;
use crate::{
    Account, AddressList, Config, EventSink, Gsm, LimitConfig, MoRule, NatsSource, NumberRange,
    OperatorConfig, PolicyConfig, RouteConfig,
};
use smsc_domain::settings::THE_POLICY;

/// A section of the configuration that is a resource.
pub trait ConfiguredResource: Setting + Default {
    /// The key that is its name; `None` if there is only one of the kind.
    const NAME_FIELD: Option<&'static str>;

    /// Those of a configuration.
    fn list(config: &Config) -> &[Self];

    /// Removes those of a configuration.
    fn clear(config: &mut Config);

    /// Adds it to a configuration.
    fn add_to(self, config: &mut Config);

    fn resource_name(&self) -> String;

    /// Gives it the name that a path says.
    ///
    /// # Errors
    /// It has another one.
    fn take_name(&mut self, path: &str) -> Result<(), Vec<ConfigProblem>>;

    /// Its body as it is kept.
    fn body(&self) -> String {
        kept(self)
    }

    /// Checks it with what was given for it.
    ///
    /// # Errors
    /// Keys exclude each other.
    fn check_given(&self, _given: &Json) -> Result<(), Vec<ConfigProblem>> {
        Ok(())
    }
}

/// Evaluates an expression with the type of a kind, by a name for it.
macro_rules! for_kind {
    ($kind:expr, $One:ident => $value:expr) => {
        for_kind!(@ $kind, $One => $value;
            Account Account, Operator OperatorConfig, Route RouteConfig, List AddressList,
            Limit LimitConfig, Policy PolicyConfig, MoRule MoRule, Gsm Gsm,
            NumberRange NumberRange, EventSink EventSink, NatsSource NatsSource)
    };
    (@ $kind:expr, $One:ident => $value:expr; $($Kind:ident $Type:ident),+) => {
        match $kind {
            $(smsc_domain::settings::ResourceKind::$Kind => {
                type $One = $crate::$Type;
                $value
            })+
        }
    };
}
pub(crate) use for_kind;

/// Kinds of which a configuration has lists.
macro_rules! listed {
    ($($Type:ident in $list:ident by $name:ident { $($more:tt)* })+) => {$(
        impl ConfiguredResource for $Type {
            const NAME_FIELD: Option<&'static str> = Some(stringify!($name));

            fn list(config: &Config) -> &[Self] {
                &config.$list
            }

            fn clear(config: &mut Config) {
                config.$list.clear();
            }

            fn add_to(self, config: &mut Config) {
                config.$list.push(self);
            }

            fn resource_name(&self) -> String {
                self.$name.clone()
            }

            fn take_name(&mut self, path: &str) -> Result<(), Vec<ConfigProblem>> {
                let own = std::mem::take(&mut self.$name);
                self.$name = own_name(stringify!($name), path, Some(own))?;
                Ok(())
            }

            $($more)*
        }
    )+};
}

listed! {
    Account in account by system_id {
        fn body(&self) -> String {
            account_body(self)
        }

        fn check_given(&self, given: &Json) -> Result<(), Vec<ConfigProblem>> {
            one_of(given, "password", self.password_file.is_some())?;
            one_of(given, "password_next", self.password_next_file.is_some())
        }
    }
    OperatorConfig in operator by id {
        fn body(&self) -> String {
            operator_body(self)
        }

        fn check_given(&self, given: &Json) -> Result<(), Vec<ConfigProblem>> {
            one_of(given, "password", self.password_file.is_some())
        }
    }
    AddressList in list by name {}
    LimitConfig in limit by name {}
    MoRule in mo_rule by name {}
    Gsm in gsm by name {}
    NumberRange in number_range by name {}
    EventSink in event_sink by name {}
    NatsSource in nats_source by name {}
}

impl ConfiguredResource for RouteConfig {
    const NAME_FIELD: Option<&'static str> = Some("name");

    fn list(config: &Config) -> &[Self] {
        &config.route
    }

    fn clear(config: &mut Config) {
        config.route.clear();
    }

    fn add_to(self, config: &mut Config) {
        config.route.push(self);
    }

    fn resource_name(&self) -> String {
        self.key()
    }

    fn take_name(&mut self, path: &str) -> Result<(), Vec<ConfigProblem>> {
        if self.name.is_some() || self.conditions() != path {
            self.name = Some(own_name("name", path, self.name.take())?);
        }
        Ok(())
    }
}

/// There is one, unless everything in it is the default.
impl ConfiguredResource for PolicyConfig {
    const NAME_FIELD: Option<&'static str> = None;

    fn list(config: &Config) -> &[Self] {
        if config.policy.same(&Self::default()) {
            &[]
        } else {
            std::slice::from_ref(&config.policy)
        }
    }

    fn clear(config: &mut Config) {
        config.policy = Self::default();
    }

    fn add_to(self, config: &mut Config) {
        config.policy = self;
    }

    fn resource_name(&self) -> String {
        THE_POLICY.to_owned()
    }

    fn take_name(&mut self, path: &str) -> Result<(), Vec<ConfigProblem>> {
        if path == THE_POLICY {
            return Ok(());
        }
        let message = format!("is not known: there is one policy, {THE_POLICY:?}");
        Err(vec![ConfigProblem::new("", message)])
    }
}
