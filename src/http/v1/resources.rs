//! `/v1/accounts`, `/v1/operators`, `/v1/routes`, `/v1/lists`, `/v1/limits`, `/v1/policies`, `/v1/mo-rules`, `/v1/gsm`,
//! `/v1/number-ranges`, `/v1/event-sinks` and `/v1/nats-sources` as resources: read, put, deleted.
//!
//! One table: what an operation does is in [`super::settings`]. Operators and GSM networks are read in
//! [`super::operators`] and [`super::gsm`], with their state.

use actix_web::{HttpResponse, web};

use super::settings;
use super::tags::tagged;
use crate::api::{
    Accounts, AddressLists, Changed, EventSinks, Limits, MoRules, NatsSources, NumberRanges,
    Policies, Rate, Resource, Routes,
};
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::http::api_request::{ApiAnswer, ApiRequest};

/// The handlers of one kind, each with its documentation, its path and its parameter.
macro_rules! resources {
    ($module:ident: $Kind:ident; $($(#$doc:tt)+ $operation:ident $path:literal $given:tt;)+) => {
        pub(in crate::http) mod $module {
            // Not all of them in each module.
            #[allow(unused_imports)]
            use super::{
                Accounts, AddressLists, ApiAnswer, ApiRequest, Changed, EventSinks, HttpResponse,
                Limits, MoRules, NatsSources, NumberRanges, Policies, Rate, Resource, ResourceKey,
                ResourceKind, Routes, settings, tagged, web,
            };

            $(operation! { $operation $Kind $path $given $(#$doc)+ })+
        }
    };
}

/// One handler.
macro_rules! operation {
    (list $Kind:ident $path:literal ($List:ident { $field:ident }) $(#$doc:tt)+) => {
        $(#$doc)+
        #[utoipa::path(get, path = $path, tag = "configuration",
            params(
                ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; without it and `after` all of them"),
                ("after" = Option<String>, Query, description = "`next_after` of the previous page"),
                ("sort" = Option<String>, Query, description = "A key, such as `rate`, or `name`; with `-` in front for the largest first"),
                ("find" = Option<String>, Query, description = "Only those with these words in the name or a value; a word with `*` is the whole name, such as `shop*`")),
            responses((status = 200, body = $List)))]
        pub(in crate::http) async fn list(request: ApiRequest) -> ApiAnswer {
            let (version, found) = settings::list(&request, ResourceKind::$Kind).await?;
            Ok(tagged(HttpResponse::Ok(), version).json($List {
                version,
                $field: found.entries,
                next_after: found.next_after,
                total: found.total,
            }))
        }
    };
    (one $Kind:ident $path:literal $name:tt $(#$doc:tt)+) => {
        $(#$doc)+
        #[utoipa::path(get, path = $path, tag = "configuration", params($name),
            responses((status = 200, body = Resource), (status = 404)))]
        pub(in crate::http) async fn one(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
            settings::one(&request, ResourceKey::new(ResourceKind::$Kind, name.into_inner())).await
        }
    };
    (put $Kind:ident $path:literal $name:tt $(#$doc:tt)+) => {
        $(#$doc)+
        #[utoipa::path(put, path = $path, tag = "configuration", request_body = Resource, params($name),
            responses((status = 200, body = Changed), (status = 201, body = Changed), (status = 412), (status = 422)))]
        pub(in crate::http) async fn put(
            request: ApiRequest,
            name: web::Path<String>,
            body: web::Bytes,
        ) -> ApiAnswer {
            settings::put(&request, ResourceKey::new(ResourceKind::$Kind, name.into_inner()), &body).await
        }
    };
    (delete $Kind:ident $path:literal $name:tt $(#$doc:tt)+) => {
        $(#$doc)+
        #[utoipa::path(delete, path = $path, tag = "configuration", params($name),
            responses((status = 200, body = Changed), (status = 404), (status = 412), (status = 422)))]
        pub(in crate::http) async fn delete(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
            settings::delete(&request, ResourceKey::new(ResourceKind::$Kind, name.into_inner())).await
        }
    };
    (rate $Kind:ident $path:literal $name:tt $(#$doc:tt)+) => {
        $(#$doc)+
        #[utoipa::path(get, path = $path, tag = "configuration", params($name),
            responses((status = 200, body = Rate), (status = 404)))]
        pub(in crate::http) async fn rate(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
            settings::rate(&request, ResourceKey::new(ResourceKind::$Kind, name.into_inner())).await
        }
    };
    (put_rate $Kind:ident $path:literal $name:tt $(#$doc:tt)+) => {
        $(#$doc)+
        #[utoipa::path(put, path = $path, tag = "configuration", request_body = Rate, params($name),
            responses((status = 200, body = Changed), (status = 404), (status = 412), (status = 422)))]
        pub(in crate::http) async fn put_rate(
            request: ApiRequest,
            name: web::Path<String>,
            body: web::Bytes,
        ) -> ApiAnswer {
            settings::put_rate(&request, ResourceKey::new(ResourceKind::$Kind, name.into_inner()), &body).await
        }
    };
}

resources! {
    accounts: Account;
    /// Every account.
    list "/v1/accounts" (Accounts { accounts });
    /// One account.
    one "/v1/accounts/{name}" ("name" = String, Path, description = "its system_id");
    /// Creates or replaces an account. A password that is left out does not change.
    put "/v1/accounts/{name}" ("name" = String, Path, description = "its system_id");
    /// Removes an account; its binds are unbound.
    delete "/v1/accounts/{name}" ("name" = String, Path);
    /// The rate of an account.
    rate "/v1/accounts/{name}/rate" ("name" = String, Path);
    /// Changes only the rate of an account, with immediate effect.
    put_rate "/v1/accounts/{name}/rate" ("name" = String, Path);
}

resources! {
    operators: Operator;
    /// Creates or replaces an operator. A password that is left out does not change.
    put "/v1/operators/{id}" ("id" = String, Path);
    /// Removes an operator; its binds end, and its messages wait until it comes back or they expire.
    delete "/v1/operators/{id}" ("id" = String, Path);
    /// The rate of an operator.
    rate "/v1/operators/{id}/rate" ("id" = String, Path);
    /// Changes only the rate of an operator, with immediate effect and without touching its binds.
    put_rate "/v1/operators/{id}/rate" ("id" = String, Path);
}

resources! {
    routes: Route;
    /// Every route.
    list "/v1/routes" (Routes { routes });
    /// One route.
    one "/v1/routes/{key}" ("key" = String, Path, description = "its name, or its conditions: `44`, `default`");
    /// Creates or replaces a route. If the path differs from the name by its conditions, it becomes its
    /// name.
    put "/v1/routes/{key}" ("key" = String, Path);
    /// Removes a route.
    delete "/v1/routes/{key}" ("key" = String, Path);
}

resources! {
    lists: List;
    /// Every named list of addresses.
    list "/v1/lists" (AddressLists { lists });
    /// One named list of addresses.
    one "/v1/lists/{name}" ("name" = String, Path, description = "as in `list:NAME`");
    /// Creates or replaces a named list of addresses; it holds at once, on every node.
    put "/v1/lists/{name}" ("name" = String, Path, description = "as in `list:NAME`");
    /// Removes a named list, unless an account or the policy names it.
    delete "/v1/lists/{name}" ("name" = String, Path, description = "as in `list:NAME`");
}

resources! {
    limits: Limit;
    /// Every limit between addresses.
    list "/v1/limits" (Limits { limits });
    /// One limit between addresses.
    one "/v1/limits/{name}" ("name" = String, Path, description = "its name");
    /// Creates or replaces a limit between addresses; it holds at once, on every node.
    put "/v1/limits/{name}" ("name" = String, Path, description = "its name");
    /// Removes a limit.
    delete "/v1/limits/{name}" ("name" = String, Path, description = "its name");
}

resources! {
    policies: Policy;
    /// The policy of all accounts, unless everything in it is the default.
    list "/v1/policies" (Policies { policies });
    /// The policy of all accounts.
    one "/v1/policies/{name}" ("name" = String, Path, description = "`all`: there is no other one");
    /// Replaces the policy of all accounts: what is left out is the default. It holds at once, on every node.
    put "/v1/policies/{name}" ("name" = String, Path, description = "`all`: there is no other one");
    /// Makes everything in the policy of all accounts the default.
    delete "/v1/policies/{name}" ("name" = String, Path, description = "`all`: there is no other one");
}

resources! {
    mo_rules: MoRule;
    /// Every rule for messages that operators bring, in the order in which they are tried.
    list "/v1/mo-rules" (MoRules { mo_rules });
    /// One rule for messages that operators bring.
    one "/v1/mo-rules/{name}" ("name" = String, Path, description = "its name");
    /// Creates or replaces a rule for messages that operators bring; `order` says when it is tried. It holds at
    /// once, on every node.
    put "/v1/mo-rules/{name}" ("name" = String, Path, description = "its name");
    /// Removes a rule for messages that operators bring.
    delete "/v1/mo-rules/{name}" ("name" = String, Path, description = "its name");
}

resources! {
    gsm: Gsm;
    /// Creates or replaces a GSM network; every node that delivers connects to it at once.
    put "/v1/gsm/{name}" ("name" = String, Path, description = "as in `gsm:NAME`");
    /// Removes a GSM network; its connections end, and its messages wait until it comes back or they expire.
    delete "/v1/gsm/{name}" ("name" = String, Path, description = "as in `gsm:NAME`");
}

resources! {
    number_ranges: NumberRange;
    /// Every range of the number plan.
    list "/v1/number-ranges" (NumberRanges { number_ranges });
    /// One range of the number plan.
    one "/v1/number-ranges/{name}" ("name" = String, Path, description = "its name");
    /// Creates or replaces a range of the number plan; it holds at once, on every node.
    put "/v1/number-ranges/{name}" ("name" = String, Path, description = "its name");
    /// Removes a range of the number plan.
    delete "/v1/number-ranges/{name}" ("name" = String, Path, description = "its name");
}

resources! {
    event_sinks: EventSink;
    /// Every broker that gets events.
    list "/v1/event-sinks" (EventSinks { event_sinks });
    /// One broker that gets events.
    one "/v1/event-sinks/{name}" ("name" = String, Path, description = "its name");
    /// Creates or replaces a broker that gets events; every node writes events for it at once.
    put "/v1/event-sinks/{name}" ("name" = String, Path, description = "its name");
    /// Removes a broker that gets events. What waits for it is dropped when `outbox.hold` is over.
    delete "/v1/event-sinks/{name}" ("name" = String, Path, description = "its name");
}

resources! {
    nats_sources: NatsSource;
    /// Every source of commands on NATS.
    list "/v1/nats-sources" (NatsSources { nats_sources });
    /// One source of commands on NATS.
    one "/v1/nats-sources/{name}" ("name" = String, Path, description = "its name");
    /// Creates or replaces a source of commands on NATS; every node takes commands from it within seconds.
    put "/v1/nats-sources/{name}" ("name" = String, Path, description = "its name");
    /// Removes a source of commands on NATS. Its consumer stays, with what waits there.
    delete "/v1/nats-sources/{name}" ("name" = String, Path, description = "its name");
}
