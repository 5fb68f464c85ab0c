//! Says that the store of a node was made by the demo or from another file, so that what its own file names is not used.
//!
//! Pure. Called at start, when the file is read again and for each version that is applied.

use std::path::Path;

use crate::domain::settings::{ResourceKind, Resources};
use crate::store::settings::SettingsVersion;

/// Who has made what the demo makes, in the history.
pub(super) const DEMO: &str = "demo";
/// How the history describes a version that was taken from a file.
pub(super) const FIRST_START: &str = "the first start: taken from the file";

/// Who made the first version of a store's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StoreMaker {
    /// `smsc` without a file.
    Demo,
    /// This file, as it was called then.
    File(String),
    /// A person, through the API.
    Person(String),
}

// === impl StoreMaker ===

impl StoreMaker {
    /// The maker of a first version.
    pub fn of(first: &SettingsVersion) -> Self {
        match &*first.who {
            DEMO => Self::Demo,
            who if first.what.starts_with(FIRST_START) => Self::File(who.to_owned()),
            who => Self::Person(who.to_owned()),
        }
    }

    /// Whether it is not the file at `path`.
    pub fn is_other(&self, path: &Path) -> bool {
        self.besides(path).is_some()
    }

    /// The maker in words; `None` for the file at `path`. A folder may be named in another way later, so only the name counts.
    fn besides(&self, path: &Path) -> Option<String> {
        match self {
            Self::Demo => Some("by the demo (smsc without a file)".to_owned()),
            Self::File(file) if Path::new(file).file_name() == path.file_name() => None,
            Self::File(file) => Some(format!("from {file}")),
            Self::Person(who) => Some(format!("by {who} through the API")),
        }
    }

    /// That accounts or operators of the file at `path` are not in the store, which somebody else has made, and what to do.
    /// `None` if they are there.
    pub fn says(&self, path: &Path, store: &Resources, file: &Resources) -> Option<String> {
        let maker = self.besides(path)?;
        let (unused, verb) = unused(store, file)?;
        let path = path.display();
        let elsewhere = match self {
            Self::Demo => ", or name another data_dir in it",
            Self::File(_) | Self::Person(_) => "",
        };
        Some(format!(
            "the configuration in the store was made {maker}: {unused} of {path} {verb} not used. \
             `smsc apply -f {path}` puts this file in its place{elsewhere}"
        ))
    }
}

/// `account test`, `2 accounts and operator up`: what a file names and the store does not have; and `is` or `are`.
fn unused(store: &Resources, file: &Resources) -> Option<(String, &'static str)> {
    let mut said = Vec::new();
    let mut count = 0;
    for kind in [ResourceKind::Account, ResourceKind::Operator] {
        let missing: Vec<&str> = file
            .keys()
            .filter(|key| key.kind == kind && !store.contains_key(key))
            .map(|key| key.name.as_str())
            .collect();
        count += missing.len();
        match missing.as_slice() {
            [] => {}
            [one] => said.push(format!("{} {one}", kind.as_str())),
            more => said.push(format!("{} {}", more.len(), kind.plural())),
        }
    }
    let verb = if count == 1 { "is" } else { "are" };
    (count > 0).then(|| (said.join(" and "), verb))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::ResourceKey;

    fn resources(names: &[(ResourceKind, &str)]) -> Resources {
        let keys = names
            .iter()
            .map(|(kind, name)| ResourceKey::new(*kind, *name));
        keys.map(|key| (key, String::new())).collect()
    }

    fn first(who: &str, what: &str) -> StoreMaker {
        StoreMaker::of(&SettingsVersion {
            version: 1,
            at: 0,
            who: who.to_owned(),
            what: what.to_owned(),
            changes: Vec::new(),
        })
    }

    #[test]
    fn a_file_that_is_not_used_is_told_with_its_cure() {
        use ResourceKind::{Account, Operator, Route};

        let path = Path::new("smsc.toml");
        let file = resources(&[(Account, "test"), (Operator, "up"), (Route, "default")]);
        let demo = resources(&[(Account, "demo"), (Operator, "demo")]);
        let taken = format!("{FIRST_START}: 1 account added");
        let says = |maker: &StoreMaker, store: &Resources| maker.says(path, store, &file);
        assert_eq!(
            says(&first("demo", &taken), &demo).as_deref(),
            Some(
                "the configuration in the store was made by the demo (smsc without a file): account test and operator up \
                 of smsc.toml are not used. `smsc apply -f smsc.toml` puts this file in its place, or name another data_dir \
                 in it"
            )
        );
        let half = resources(&[(Account, "test")]);
        let other = first("/etc/other.toml", &taken);
        let said = says(&other, &half).unwrap();
        assert!(
            said.contains("made from /etc/other.toml: operator up of smsc.toml is not used"),
            "{said}"
        );
        let person = first("anna from 192.0.2.7", "account shop added");
        let said = says(&person, &demo).unwrap();
        assert!(
            said.contains("by anna from 192.0.2.7 through the API"),
            "{said}"
        );
        // What the file names is there, whatever else was made.
        assert_eq!(says(&other, &file), None);
        // Its own folder may have another name today.
        assert_eq!(says(&first("/etc/smsc/smsc.toml", &taken), &demo), None);
    }
}
