//! `smsc openapi`: prints the description of the admin API; no SMSC needs to run.

use super::client;
use crate::http::openapi;

/// Arguments of `smsc openapi`.
#[derive(Debug, clap::Args)]
pub struct OpenapiArgs {}

/// Runs the command.
///
/// # Errors
/// Standard output is closed.
pub fn run(_: &OpenapiArgs) -> anyhow::Result<()> {
    client::print_line(&openapi::json()?)
}
