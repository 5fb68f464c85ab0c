//! The pages of the OpenAPI document, `/v1/docs/`, for people.
//!
//! Everything they need comes from this binary. A build without the feature `swagger-ui` says so there.

use actix_web::web;

/// Where they are.
const PAGES: &str = "/v1/docs";

/// Adds them.
#[cfg(feature = "swagger-ui")]
pub(in crate::http) fn add(app: &mut web::ServiceConfig) {
    use actix_web::http::header::CONTENT_SECURITY_POLICY;
    use actix_web::middleware::DefaultHeaders;
    use utoipa_swagger_ui::{Config, SwaggerUi};

    /// Where the document is.
    const DOCUMENT: &str = "/v1/openapi.json";
    /// Scripts of this server only, which set styles in the page.
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    let config = Config::new([DOCUMENT]).validator_url("none");
    let policy = DefaultHeaders::new().add((CONTENT_SECURITY_POLICY, POLICY));
    app.service(web::resource(PAGES).route(web::get().to(to_pages)))
        .service(
            web::scope(PAGES)
                .wrap(policy)
                .service(SwaggerUi::new("/{_:.*}").config(config)),
        );
}

#[cfg(feature = "swagger-ui")]
async fn to_pages() -> actix_web::HttpResponse {
    use actix_web::HttpResponse;
    use actix_web::http::header::LOCATION;

    HttpResponse::PermanentRedirect()
        .insert_header((LOCATION, format!("{PAGES}/")))
        .finish()
}

/// Says that there are none.
#[cfg(not(feature = "swagger-ui"))]
pub(in crate::http) fn add(app: &mut web::ServiceConfig) {
    app.service(web::resource(PAGES).to(none))
        .service(web::scope(PAGES).default_service(web::to(none)));
}

#[cfg(not(feature = "swagger-ui"))]
async fn none() -> Result<actix_web::HttpResponse, crate::http::problem::Problem> {
    Err(crate::http::problem::Problem::not_found(
        "this build has no pages of the API: build with --features swagger-ui, or read /v1/openapi.json",
    ))
}
