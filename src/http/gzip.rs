//! Answers compressed by gzip (RFC 1952) for clients that take it (RFC 9110 §12.5.3): whole ones by a middleware, streams
//! of events a piece at a time.
//!
//! Lists of a thousand accounts are megabytes of JSON in which every entry has the keys of the one before. Figures for
//! Prometheus are left as they are.

use std::io::{self, Write as _};

use actix_web::body::{BoxBody, MessageBody as _};
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::api_request::MiddlewareAnswer;

/// How `Content-Encoding` calls it.
pub(super) const GZIP: &str = "gzip";

/// Shorter answers fit into one packet anyway.
const SHORTEST: usize = 1_024;
/// Beginnings of the content types that are compressed.
const TEXTS: [&str; 4] = [
    "application/json",
    "text/css",
    "text/html",
    "text/javascript",
];

/// A stream in which the client can read each piece as soon as it has come.
pub(super) struct GzipStream(GzEncoder<Vec<u8>>);

/// Middleware: compresses whole answers.
pub(super) async fn press(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let is_wanted = is_taken(request.headers());
    let answer = next.call(request).await?;
    if !is_text(answer.headers()) || answer.headers().contains_key(CONTENT_ENCODING) {
        return Ok(answer);
    }
    Ok(answer.map_body(|head, body| {
        let octets = match body.try_into_bytes() {
            Ok(octets) => octets,
            Err(body) => return body,
        };
        if octets.len() < SHORTEST {
            return octets.boxed();
        }
        let headers = head.headers_mut();
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        if !is_wanted {
            return octets.boxed();
        }
        match pressed(&octets) {
            Ok(pressed) => {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static(GZIP));
                pressed.boxed()
            }
            Err(_) => octets.boxed(),
        }
    }))
}

/// Whether a client takes gzip.
pub(super) fn is_taken(headers: &HeaderMap) -> bool {
    let is_gzip = |part: &str| {
        let (name, weight) = part.split_once(';').unwrap_or((part, ""));
        let weight = weight.trim().strip_prefix(['q', 'Q']);
        let weight = weight.and_then(|weight| weight.strip_prefix('='));
        // What is no number is no consent.
        let is_refused = weight.is_some_and(|weight| !weight.parse().is_ok_and(|q: f32| q > 0.0));
        name.trim().eq_ignore_ascii_case(GZIP) && !is_refused
    };
    headers
        .get_all(ACCEPT_ENCODING)
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(is_gzip))
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    TEXTS.iter().any(|text| kind.starts_with(text))
}

fn pressed(octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(octets)?;
    encoder.finish()
}

// === impl GzipStream ===

impl GzipStream {
    pub(super) fn begin() -> Self {
        Self(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    /// A piece of the stream. What was in one of the last pieces costs next to nothing in this one.
    pub(super) fn press(&mut self, octets: &[u8]) -> Bytes {
        // A vector takes whatever is written to it.
        let written = self.0.write_all(octets).and_then(|()| self.0.flush());
        debug_assert!(written.is_ok(), "{written:?}");
        std::mem::take(self.0.get_mut()).into()
    }

    /// The last octets.
    pub(super) fn end(self) -> Bytes {
        self.0.finish().unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_client_says_whether_it_takes_gzip() {
        let takes = |accepted: &str| {
            let request = TestRequest::default().insert_header((ACCEPT_ENCODING, accepted));
            is_taken(request.to_http_request().headers())
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("gzip, deflate, br, zstd"));
        assert!(!takes("br") && !takes("gzip;q=0, br") && !takes("") && !takes("x-gzipped"));
        assert!(!takes("gzip; q=0.000") && !takes("gzip;Q=0") && !takes("gzip;q=nan"));
        assert!(!takes("*") && !takes("identity;q=0, *;q=0") && takes("identity;q=0, gzip ; q=1"));
    }

    #[test]
    fn each_piece_of_a_stream_can_be_read_when_it_has_come() {
        let mut stream = GzipStream::begin();
        let event = format!("event: queues\ndata: {}\n\n", "account ".repeat(500));
        let mut sent = stream.press(event.as_bytes()).to_vec();
        let first = sent.len();
        let mut read = vec![0; event.len()];
        GzDecoder::new(&sent[..]).read_exact(&mut read).unwrap();
        assert_eq!(read, event.as_bytes());
        sent.extend_from_slice(&stream.press(event.as_bytes()));
        assert!(sent.len() < 2 * first + 64, "{} octets", sent.len());
        sent.extend_from_slice(&stream.end());
        let mut whole = String::new();
        GzDecoder::new(&sent[..])
            .read_to_string(&mut whole)
            .unwrap();
        assert_eq!(whole, event.repeat(2));
    }
}
