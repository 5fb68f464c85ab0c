//! The OpenAPI document for people, at `/v1/docs/`. Everything the pages need comes from this binary.

#[cfg(feature = "swagger-ui")]
mod swagger {
    use actix_web::http::header::{CONTENT_SECURITY_POLICY, LOCATION};
    use actix_web::middleware::DefaultHeaders;
    use actix_web::{HttpResponse, web};
    use utoipa_swagger_ui::{Config, SwaggerUi};

    use super::PAGES;

    /// Where the document is.
    const DOCUMENT: &str = "/v1/openapi.json";
    /// Scripts of this server only, which set styles in the page.
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    pub fn pages(app: &mut web::ServiceConfig) {
        let config = Config::new([DOCUMENT]).validator_url("none");
        let policy = DefaultHeaders::new().add((CONTENT_SECURITY_POLICY, POLICY));
        app.service(web::resource(PAGES).route(web::get().to(to_pages)))
            .service(
                web::scope(PAGES)
                    .wrap(policy)
                    .service(SwaggerUi::new("/{_:.*}").config(config)),
            );
    }

    async fn to_pages() -> HttpResponse {
        HttpResponse::PermanentRedirect()
            .insert_header((LOCATION, format!("{PAGES}/")))
            .finish()
    }
}

#[cfg(not(feature = "swagger-ui"))]
mod swagger {
    use actix_web::web;

    use super::PAGES;
    use crate::http::problem::Problem;

    pub fn pages(app: &mut web::ServiceConfig) {
        for path in [PAGES.to_owned(), format!("{PAGES}/{{_:.*}}")] {
            app.service(web::resource(path).route(web::get().to(without)));
        }
    }

    async fn without() -> Result<String, Problem> {
        Err(Problem::not_found(
            "this build is without these pages: read /v1/openapi.json, or build with `--features swagger-ui`",
        ))
    }
}

pub(super) use swagger::pages;

/// Where the pages are.
const PAGES: &str = "/v1/docs";
