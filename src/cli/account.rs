//! `smsc account`: accounts as resources, and the sheet for the customer of one.

use super::client::{self, Listing, OutputPage};
use super::resource::{self, ResourceCommand};
use crate::api::AccountSheet;
use crate::domain::settings::ResourceKind;

/// What to do with accounts.
#[derive(Debug, clap::Subcommand)]
pub enum AccountCommand {
    #[command(flatten)]
    Resource(ResourceCommand),
    /// Show what its customer needs to connect: host, ports, limits, how to bind.
    Sheet {
        /// Its name.
        name: String,
        #[command(flatten)]
        listing: Listing,
    },
}

/// Runs the command.
///
/// # Errors
/// As [`resource::run`].
pub fn run(order: AccountCommand) -> anyhow::Result<()> {
    match order {
        AccountCommand::Resource(order) => resource::run(ResourceKind::Account, order),
        AccountCommand::Sheet { name, listing } => {
            let path = format!("/v1/accounts/{}/sheet", client::segment(&name));
            listing.show(&path, |sheet: AccountSheet| {
                OutputPage::default().text(sheet.text)
            })
        }
    }
}
