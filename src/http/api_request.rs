//! What a handler of an API gets, and what it and a middleware give back.

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::body::BoxBody;
use actix_web::dev::{Payload, ServiceResponse};
use actix_web::error::ErrorInternalServerError;
use actix_web::{Error, FromRequest, HttpRequest, HttpResponse, web};

use super::State;
use super::problem::Problem;

/// The response of a handler, or the problem that is answered instead.
pub(super) type ApiAnswer = Result<HttpResponse, Problem>;

/// What a middleware gives back: the response of what is behind it, or its own.
pub(super) type MiddlewareAnswer = Result<ServiceResponse<BoxBody>, Error>;

/// A request, with what every handler of its server reaches.
pub(super) struct ApiRequest<S = State> {
    http: HttpRequest,
    pub state: web::Data<S>,
}

impl<S: 'static> FromRequest for ApiRequest<S> {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let state = request.app_data::<web::Data<S>>().cloned();
        let state = state.ok_or_else(|| ErrorInternalServerError("the server has no state"));
        ready(state.map(|state| Self {
            http: request.clone(),
            state,
        }))
    }
}

impl<S> Deref for ApiRequest<S> {
    type Target = HttpRequest;

    fn deref(&self) -> &HttpRequest {
        &self.http
    }
}
