//! Jasmin: what jcli shows (`smppccm -s`, `user -s`, `mtrouter -l` and so on), captured into files,
//! or the commands with which it was set up (`user -a` … `ok`), which also have the passwords.
//!
//! The texts become records ([`read`]), filters become conditions ([`filters`]), users become
//! accounts and connectors operators ([`peers`]), HTTP connectors accounts with callbacks ([`http`]), routes are resolved
//! so that the first matching one still decides ([`routing`]), also about what a message costs ([`prices`]). What Jasmin
//! itself decides is in [`original`].

mod filters;
mod http;
mod original;
mod peers;
mod prices;
mod read;
mod routing;

use super::draft::ConfigDraft;
use super::{ConversionNotes, ConversionRefused, Converted, SourceText, must};
pub use original::{JasminRouter, router};
use prices::PriceUnit;
use read::{Captured, Record};

/// How to get what can be converted.
const CAPTURE: &str = "capture what jcli shows instead: smppccm -l, smppccm -s CID for each \
                       connector, group -l, user -l, user -s UID for each user, filter -l, \
                       mtrouter -l, morouter -l, httpccm -l (for example with telnet and tee)";

/// Converts these captures together: what one file names may be in another.
///
/// # Errors
/// A file is one of Jasmin's own (pickled Python objects), or there is nothing of jcli in any.
pub fn convert(sources: &[SourceText]) -> Result<Converted, ConversionRefused> {
    let captured = capture(sources)?;
    let mut notes = ConversionNotes::default();
    let mut draft = ConfigDraft::default();
    let unit = PriceUnit::of(&captured);
    let users = peers::accounts(&captured, unit, &mut draft, &mut notes);
    let http = http::accounts(&captured, &mut draft, &mut notes);
    let connectors = peers::operators(&captured, &mut draft, &mut notes);
    let (rules, prices) = routing::mobile_terminated(&captured, &users, &connectors, &mut notes);
    if let Some(unit) = unit {
        prices::set(unit, &prices, &mut draft, &mut notes);
    }
    routing::mobile_originated(&captured, &users, &http, &mut draft, &mut notes);
    for record in &captured.others {
        notes.advise(
            &record.place,
            format!("{} {}", record.kind, record.name),
            must("there are no scripts in the path of a message; let the application or a proxy do it"),
        );
    }
    notes.0.sort();
    notes.0.dedup();
    Ok(Converted {
        toml: draft.write("Jasmin", &rules),
        notes: notes.0,
    })
}

/// What is in these captures.
fn capture(sources: &[SourceText]) -> Result<Captured, ConversionRefused> {
    for source in sources {
        let is_pickle =
            source.text.starts_with("Persisted on ") || source.text.contains(['\u{0}', '\u{FFFD}']);
        if is_pickle {
            return Err(ConversionRefused {
                file: source.name.clone(),
                why: format!(
                    "this is a file of `persist`, made of Python objects that only Jasmin reads; {CAPTURE}"
                ),
            });
        }
    }
    let mut captured = Captured::default();
    for source in sources {
        read::read(source, &mut captured);
    }
    if captured.is_empty() {
        return Err(ConversionRefused {
            file: sources
                .first()
                .map_or(String::new(), |source| source.name.clone()),
            why: format!("there is nothing of jcli in it; {CAPTURE}"),
        });
    }
    Ok(captured)
}

impl Record {
    /// A value that is set: not `None`, `ND` or empty.
    fn given(&self, key: &str) -> Option<&str> {
        let value = self.get(key)?;
        (!["", "None", "none", "ND"].contains(&value)).then_some(value)
    }
}

#[cfg(test)]
mod tests;
