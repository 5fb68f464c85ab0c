//! The way to the collector: OTLP over gRPC or HTTP, plain or over TLS.
//!
//! Used by the exporter's thread. Address, headers and timeout are read from the environment by the OTLP library; the files
//! for TLS by this one: OTEL_EXPORTER_OTLP_CERTIFICATE instead of the authorities of the machine, and _CLIENT_CERTIFICATE
//! with _CLIENT_KEY for collectors that ask for one. They are read once, at the start.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Chain, Context as _, anyhow};
use hyper_rustls::HttpsConnectorBuilder;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};
use opentelemetry_otlp::{
    Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _, WithTonicConfig as _,
};
use rustls::ClientConfig;
use smsc_host::files;
use smsc_tls as tls;

use super::environment::{File, TlsFiles, TraceSettings};

const WRONG: &str = "the OTLP exporter cannot be built: check the OTEL_EXPORTER_OTLP_* variables";

/// Why the last request failed; shared with the client that noted it.
#[derive(Debug, Clone, Default)]
pub struct Cause(Arc<Mutex<Option<String>>>);

/// A client that notes why a request failed: the exporter only says that it did.
#[derive(Debug)]
struct Noting<C> {
    client: C,
    cause: Cause,
}

/// The exporter for the settings, which connects when there is something to send.
///
/// # Errors
/// A file for TLS or a variable cannot be used; the text names the variable.
pub fn exporter(settings: &TraceSettings) -> anyhow::Result<(SpanExporter, Cause)> {
    let cause = Cause::default();
    let files = &settings.files;
    // Also for gRPC, whose library says less about what is wrong with a file.
    let config = client_config(files).map_err(|error| anyhow!(error))?;
    if settings.is_grpc {
        let builder = SpanExporter::builder().with_tonic();
        let builder = if settings.is_secure {
            builder.with_tls_config(of_grpc(files)?)
        } else {
            builder
        };
        return Ok((builder.build().context(WRONG)?, cause));
    }
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .build();
    let client = Noting {
        client: HyperClient::new(connector, settings.timeout, None),
        cause: cause.clone(),
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_http_client(client)
        .build()
        .context(WRONG)?;
    Ok((exporter, cause))
}

fn client_config(files: &TlsFiles) -> Result<ClientConfig, String> {
    let named = |file: &File| tls::Named::new(file.variable, &file.path);
    let roots = match &files.ca {
        Some(ca) => tls::roots(&named(ca))?,
        None => tls::platform_roots(),
    };
    let identity = match &files.client {
        Some((cert, key)) => Some(tls::Identity::read(&named(cert), &named(key))?),
        None => None,
    };
    tls::client_config(roots, identity)
}

fn of_grpc(files: &TlsFiles) -> anyhow::Result<ClientTlsConfig> {
    let read = |file: &File| {
        files::read(&file.path, files::CERTIFICATES)
            .with_context(|| format!("{}: {}", file.variable, file.path.display()))
    };
    let config = match &files.ca {
        Some(ca) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?)),
        None => ClientTlsConfig::new().with_enabled_roots(),
    };
    Ok(match &files.client {
        Some((cert, key)) => config.identity(Identity::from_pem(read(cert)?, read(key)?)),
        None => config,
    })
}

// === impl Cause ===

impl Cause {
    /// The cause, once.
    pub fn take(&self) -> Option<String> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Noting ===

impl<C: HttpClient> HttpClient for Noting<C> {
    // As the macro of the trait writes an asynchronous function.
    fn send_bytes<'c, 'f>(
        &'c self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        'c: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let answer = self.client.send_bytes(request).await;
            if let Err(error) = &answer {
                let causes = Chain::new(error.as_ref()).map(ToString::to_string);
                let texts: Vec<String> = causes.collect();
                *self.cause.lock() = Some(texts.join(": "));
            }
            answer
        })
    }
}
