//! Delivery reports that a request wants to be sent to a URL.

use actix_web::http::Method;

/// Bits of a mask, as Kannel numbers them: by the handset, and by the operator.
pub(super) const DELIVERED: u8 = 1;
pub(super) const FAILED: u8 = 2;
pub(super) const SENT: u8 = 8;
pub(super) const REJECTED: u8 = 16;
/// Highest mask: all of them, and intermediate ones.
pub(super) const MASK: i64 = 63;

/// What is to be reported, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportOrder {
    /// States to report; never 0.
    pub mask: u8,
    /// As the request wrote it. `None`: it relies on a URL that was configured elsewhere.
    pub url: Option<String>,
    pub method: Method,
}

/// Nobody would report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "delivery reports by HTTP are not supported yet: nothing would be sent by {method} to {to} for the mask {mask}"
)]
pub(super) struct Unsupported {
    mask: u8,
    method: Method,
    to: String,
}

// === impl ReportOrder ===

impl ReportOrder {
    /// Arranges that the states of a message are reported. The one place for it, for both products.
    ///
    /// # Errors
    /// There is no HTTP client yet that could report: the request must be refused, because its sender would wait.
    pub(super) fn arrange(self) -> Result<(), Unsupported> {
        Err(Unsupported {
            mask: self.mask,
            method: self.method,
            to: self.url.unwrap_or_else(|| "a configured URL".to_owned()),
        })
    }
}
