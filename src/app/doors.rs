//! What precedes a session on a connection: certificates, authorities, load balancers.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config;
use crate::domain::allow::AllowList;
use crate::tls::{self, Named, ServerFiles};

/// The certificate of an HTTP server, if it is served by HTTPS.
pub(super) fn certificate(
    table: &str,
    cert: &Option<PathBuf>,
    key: &Option<PathBuf>,
) -> anyhow::Result<Option<Arc<tls::Server>>> {
    let (Some(cert), Some(key)) = (cert, key) else {
        return Ok(None);
    };
    Ok(Some(tls::Server::open(ServerFiles {
        cert: Named::new(format!("{table}.tls_cert"), cert),
        key: Named::new(format!("{table}.tls_key"), key),
        client_ca: None,
        client_crl: None,
    })?))
}

/// How a listener serves TLS, if it does.
pub(super) fn server(
    listener: &config::ListenerConfig,
) -> anyhow::Result<Option<Arc<tls::Server>>> {
    let (Some(cert), Some(key)) = (&listener.tls_cert, &listener.tls_key) else {
        return Ok(None);
    };
    let named = |setting: &str, file: &PathBuf| {
        Named::new(format!("listener {}: {setting}", listener.name()), file)
    };
    let client_ca = listener.tls_client_ca.as_ref();
    let client_crl = listener.tls_client_crl.as_ref();
    Ok(Some(tls::Server::open(ServerFiles {
        cert: named("tls_cert", cert),
        key: named("tls_key", key),
        client_ca: client_ca.map(|file| named("tls_client_ca", file)),
        client_crl: client_crl.map(|file| named("tls_client_crl", file)),
    })?))
}

/// The load balancers in front of a listener, if there are any.
pub(super) fn balancers(listener: &config::ListenerConfig) -> anyhow::Result<Option<AllowList>> {
    match listener.proxy_from.as_slice() {
        [] => Ok(None),
        from => Ok(Some(AllowList::parse(from)?)),
    }
}
