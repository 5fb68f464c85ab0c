//! `/v1/lists`, `/v1/limits` and `/v1/policies` as resources: read, put, deleted.
//!
//! What they have in common with accounts, operators and routes is in [`super::settings`].

use actix_web::{HttpRequest, HttpResponse, web};

use super::settings;
use super::tags::tagged;
use crate::api::{AddressLists, Changed, Limits, Policies, Resource};
use crate::domain::settings::{Key, Kind};
use crate::http::State;
use crate::http::problem::Problem;

/// The four operations on the resources of one kind.
macro_rules! resources {
    (
        $module:ident, $kind:expr, $path:literal, $one:literal, $name:literal,
        $List:ident { $field:ident }, $all:literal, $single:literal, $put:literal, $delete:literal
    ) => {
        pub(in crate::http) mod $module {
            use super::*;

            #[doc = $all]
            #[utoipa::path(get, path = $path, tag = "configuration",
                responses((status = 200, body = $List)))]
            pub(in crate::http) async fn list(
                request: HttpRequest,
                state: web::Data<State>,
            ) -> Result<HttpResponse, Problem> {
                let (version, $field) = settings::list(&request, &state, $kind).await?;
                Ok(tagged(HttpResponse::Ok(), version).json($List { version, $field }))
            }

            #[doc = $single]
            #[utoipa::path(get, path = $one, tag = "configuration",
                params(("name" = String, Path, description = $name)),
                responses((status = 200, body = Resource), (status = 404)))]
            pub(in crate::http) async fn one(
                request: HttpRequest,
                state: web::Data<State>,
                name: web::Path<String>,
            ) -> Result<HttpResponse, Problem> {
                settings::one(&request, &state, Key::new($kind, name.into_inner())).await
            }

            #[doc = $put]
            #[utoipa::path(put, path = $one, tag = "configuration", request_body = Resource,
                params(("name" = String, Path, description = $name)),
                responses((status = 200, body = Changed), (status = 201, body = Changed), (status = 412), (status = 422)))]
            pub(in crate::http) async fn put(
                request: HttpRequest,
                state: web::Data<State>,
                name: web::Path<String>,
                body: web::Bytes,
            ) -> Result<HttpResponse, Problem> {
                settings::put(&request, &state, Key::new($kind, name.into_inner()), &body).await
            }

            #[doc = $delete]
            #[utoipa::path(delete, path = $one, tag = "configuration",
                params(("name" = String, Path, description = $name)),
                responses((status = 200, body = Changed), (status = 404), (status = 412), (status = 422)))]
            pub(in crate::http) async fn delete(
                request: HttpRequest,
                state: web::Data<State>,
                name: web::Path<String>,
            ) -> Result<HttpResponse, Problem> {
                settings::delete(&request, &state, Key::new($kind, name.into_inner())).await
            }
        }
    };
}

resources! {
    lists, Kind::List, "/v1/lists", "/v1/lists/{name}", "as in `list:NAME`",
    AddressLists { lists },
    "Every named list of addresses.",
    "One named list of addresses.",
    "Creates or replaces a named list of addresses; it holds at once, on every node.",
    "Removes a named list, unless an account or the policy names it."
}

resources! {
    limits, Kind::Limit, "/v1/limits", "/v1/limits/{name}", "its name",
    Limits { limits },
    "Every limit between addresses.",
    "One limit between addresses.",
    "Creates or replaces a limit between addresses; it holds at once, on every node.",
    "Removes a limit."
}

resources! {
    policies, Kind::Policy, "/v1/policies", "/v1/policies/{name}", "`all`: there is no other one",
    Policies { policies },
    "The policy of all accounts, unless everything in it is the default.",
    "The policy of all accounts.",
    "Replaces the policy of all accounts: what is left out is the default. It holds at once, on every node.",
    "Makes everything in the policy of all accounts the default."
}
