//! Exit codes: what a script learns of an error without reading it.

use super::client::AdminApiError;
use crate::config::ConfigError;
use crate::load::LoadError;
use crate::load::bind::BindError;
use crate::store::StoreError;

/// As clap has it.
const WRONG_LINE: u8 = 2;
/// Something that was asked for is not there.
const NOT_FOUND: u8 = 3;
/// The SMSC refuses: a wrong token or role, a conflict, a wrong configuration, a wrong password.
const REFUSED: u8 = 4;
/// No SMSC answers.
const UNREACHABLE: u8 = 5;
/// A message was refused or has ended undelivered.
const NOT_DELIVERED: u8 = 6;
/// EX_DATAERR of sysexits.h: what is on the disk is not what was written.
const DAMAGED: u8 = 65;

/// Below `smsc --help`.
pub const HELP: &str = "Exit codes:
  0   done; of health, also degraded
  1   failed for another reason than these
  2   the command line is wrong
  3   what was asked for is not there
  4   the SMSC refuses: wrong token or role, a conflict, a wrong value, some of many messages
  5   no SMSC answers there
  6   the message was refused or not delivered
  65  a store is damaged
  69  another process has taken the data folder
  70  an actor could not be kept alive
  74  a write or fsync failed
  78  the configuration is wrong";

/// A message that was refused, or that has ended without being delivered.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UndeliveredMessage(pub String);

/// What is wrong with a command line, and what to write instead, where clap cannot see it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongCommandLine(pub String);

/// Some of the messages of an order were refused; what became of each was said before.
#[derive(Debug, thiserror::Error)]
#[error("{refused} of {matched} messages were refused")]
pub struct PartlyRefused {
    pub refused: u64,
    pub matched: u64,
}

/// The exit code of an error.
pub fn code_of(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<ConfigError>().is_some() {
        return ConfigError::EXIT_CODE;
    }
    if let Some(StoreError::Damaged(_)) = error.downcast_ref() {
        return DAMAGED;
    }
    if error.downcast_ref::<UndeliveredMessage>().is_some() {
        return NOT_DELIVERED;
    }
    if error.downcast_ref::<WrongCommandLine>().is_some() {
        return WRONG_LINE;
    }
    if error.downcast_ref::<PartlyRefused>().is_some() {
        return REFUSED;
    }
    match bind_error(error) {
        Some(BindError::Refused { .. }) => return REFUSED,
        Some(_) => return UNREACHABLE,
        None => {}
    }
    match error.downcast_ref() {
        Some(AdminApiError::NotFound(_)) => NOT_FOUND,
        Some(AdminApiError::WrongToken { .. } | AdminApiError::Refused(_)) => REFUSED,
        Some(
            AdminApiError::NothingListens(_)
            | AdminApiError::NoSuchHost(_)
            | AdminApiError::Unreachable(_),
        ) => UNREACHABLE,
        None => 1,
    }
}

/// Why `smsc send` or `smsc load` could not bind.
fn bind_error(error: &anyhow::Error) -> Option<&BindError> {
    if let Some(LoadError::Bind(bind)) = error.downcast_ref() {
        return Some(bind);
    }
    error.downcast_ref()
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn errors_have_their_codes_also_below_a_context() {
        let not_found = || anyhow!(AdminApiError::NotFound("no".to_owned()));
        let refused = AdminApiError::Refused("no".to_owned());
        let away = AdminApiError::NothingListens("a:1".to_owned());
        let bind = BindError::NotRunning {
            to: "a:1".to_owned(),
        };
        for (error, code) in [
            (not_found(), 3),
            (Err::<(), _>(not_found()).context("x").unwrap_err(), 3),
            (anyhow!(refused), 4),
            (anyhow!(away), 5),
            (anyhow!(bind), 5),
            (anyhow!(WrongCommandLine("no".to_owned())), 2),
            (
                anyhow!(PartlyRefused {
                    refused: 1,
                    matched: 3,
                }),
                4,
            ),
            (anyhow!(UndeliveredMessage("EXPIRED".to_owned())), 6),
            (anyhow!(StoreError::Damaged("x".to_owned())), 65),
            (anyhow!("anything else"), 1),
        ] {
            assert_eq!(code_of(&error), code, "{error:#}");
        }
        for code in [2, 3, 4, 5, 6, 65] {
            assert!(HELP.contains(&format!("\n  {code} ")), "{code}");
        }
    }
}
