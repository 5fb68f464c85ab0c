//! What those have in common that stand between a session of ours, on a pair of sockets, and a peer that speaks another
//! protocol: how octets are moved without either side waiting for the other to read.
//!
//! Used by the relay of carriers' clients (`ingress/carrier`). What is to be written is kept; while that is [`MUCH`], the
//! other side is not read.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use jiff::tz::{Offset, TimeZone};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// How long the last octets may take to be written.
pub const LINGER: Duration = Duration::from_secs(2);
/// Octets that may wait to be written on one side before the other side is read again.
pub const MUCH: usize = 256 * 1024;

/// The time of carriers and their clients: China has one, without changes.
pub fn china() -> TimeZone {
    TimeZone::fixed(Offset::constant(8))
}

/// Writes some of the octets. TLS may keep them until it is flushed: `unflushed` says so if this is dropped halfway.
pub async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    octets: &mut BytesMut,
    unflushed: &mut bool,
) -> io::Result<()> {
    if !octets.is_empty() {
        *unflushed = true;
        to.write_buf(octets).await?;
    }
    to.flush().await?;
    *unflushed = false;
    Ok(())
}

/// Writes the last octets of both sides: answers, and the last words. The far side may close then.
pub async fn part(
    near: &mut (impl AsyncWrite + Unpin),
    near_out: &mut BytesMut,
    far: &mut (impl AsyncWrite + Unpin),
    far_out: &mut BytesMut,
) {
    let last = async {
        let _ = near.write_all_buf(near_out).await;
        if far.write_all_buf(far_out).await.is_ok() {
            let _ = far.shutdown().await;
        }
    };
    let _ = tokio::time::timeout(LINGER, last).await;
}
