//! Files that accounts, operators and lists name, and which of them may be named through the API.
//!
//! The process may read more than whoever holds a token of the API, so a file that is new there must
//! lie in `http.files_dir`. Called before anything reads the files.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::problem::ConfigProblem;
use super::schema::resource_schema;
use super::value::PATH;
use smsc_domain::settings::{ResourceKey, ResourceKind, Resources};

/// Which keys of a resource name a file, by their declarations.
fn keys(kind: ResourceKind) -> &'static [String] {
    static KEYS: LazyLock<BTreeMap<ResourceKind, Vec<String>>> = LazyLock::new(|| {
        let kinds = ResourceKind::ALL.into_iter();
        kinds.map(|kind| (kind, paths(kind))).collect()
    });
    &KEYS[&kind]
}

fn paths(kind: ResourceKind) -> Vec<String> {
    let schema = resource_schema(kind).schema;
    let properties = schema["properties"].as_object().into_iter().flatten();
    let paths = properties.filter(|(_, one)| one["format"] == PATH);
    paths.map(|(key, _)| key.clone()).collect()
}

/// The file that a kept body names under `key`.
fn named(body: Option<&String>, key: &str) -> Option<PathBuf> {
    let body: Json = serde_json::from_str(body?).ok()?;
    body.get(key)?.as_str().map(PathBuf::from)
}

/// Files of resources that are neither in `folder` nor named, at the same place, in one of the
/// `known` configurations.
pub fn files_out_of_reach(
    resources: &Resources,
    folder: Option<&Path>,
    known: &[&Resources],
) -> Vec<ConfigProblem> {
    let mut found = Vec::new();
    for (key, body) in resources {
        for field in keys(key.kind) {
            let Some(file) = named(Some(body), field) else {
                continue;
            };
            let is_known =
                |known: &&Resources| named(known.get(key), field).as_ref() == Some(&file);
            if known.iter().any(is_known) {
                continue;
            }
            if let Err(message) = check(&file, folder) {
                found.push(ConfigProblem::new(place(key, field), message));
            }
        }
    }
    found
}

fn place(key: &ResourceKey, field: &str) -> String {
    format!("{key}.{field}")
}

fn check(path: &Path, folder: Option<&Path>) -> Result<(), String> {
    let file = path.display();
    let Some(folder) = folder else {
        return Err(format!(
            "{file} cannot be named through the API: set http.files_dir to a folder for such files, \
             or name it in the configuration file of the node"
        ));
    };
    let outside = || {
        format!(
            "{file} is not in {}: only files of http.files_dir can be named through the API",
            folder.display()
        )
    };
    // By its name first, so that the check does not reveal which files exist elsewhere; then by the
    // target of links.
    let (Some(path), Some(below)) = (plain(path), plain(folder)) else {
        return Err(outside());
    };
    if !path.starts_with(&below) {
        return Err(outside());
    }
    let real = |path: &Path| path.canonicalize();
    match (real(&path), real(&below)) {
        (Ok(path), Ok(below)) if path.starts_with(&below) => Ok(()),
        (Ok(_), Ok(_)) => Err(outside()),
        (Err(error), _) | (_, Err(error)) => Err(format!("cannot use {file}: {error}")),
    }
}

/// An absolute path without `.` and `..`; `None` where there is no working directory.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn list(file: &Path) -> Resources {
        let body = serde_json::json!({ "file": file, "name": "a" }).to_string();
        Resources::from([(ResourceKey::new(ResourceKind::List, "a"), body)])
    }

    /// How many keys name files, also in tables of tables.
    fn paths_in(schema: &Json) -> usize {
        let inner: usize = match schema {
            Json::Object(one) => one.values().map(paths_in).sum(),
            Json::Array(all) => all.iter().map(paths_in).sum(),
            _ => 0,
        };
        inner + usize::from(schema["format"] == PATH)
    }

    #[test]
    fn every_key_that_names_a_file_is_known() {
        for kind in ResourceKind::ALL {
            let all = paths_in(&resource_schema(kind).schema);
            assert_eq!(keys(kind).len(), all, "{kind:?}: a path in a table");
        }
        let of_accounts = keys(ResourceKind::Account);
        for key in ["password_file", "callback_ca_file"] {
            assert!(of_accounts.iter().any(|one| one == key), "{of_accounts:?}");
        }
        assert_eq!(keys(ResourceKind::List), ["file"]);
    }

    #[test]
    fn only_files_of_the_folder_and_known_ones_are_in_reach() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("files");
        fs::create_dir(&folder).unwrap();
        fs::write(outer.path().join("secret"), "x").unwrap();
        fs::write(folder.join("list"), "44\n").unwrap();
        symlink("list", folder.join("inside")).unwrap();
        symlink("../secret", folder.join("outside")).unwrap();
        let said = |file: &Path, folder: Option<&Path>| {
            let found = files_out_of_reach(&list(file), folder, &[]);
            found.first().map(ToString::to_string)
        };
        for (file, reached) in [
            ("list", true),
            ("inside", true),
            ("./list", true),
            ("../files/list", true),
            ("outside", false),
            ("../secret", false),
            ("../files/../secret", false),
            ("none", false),
        ] {
            let said = said(&folder.join(file), Some(&folder));
            assert_eq!(said.is_none(), reached, "{file}: {said:?}");
        }
        let outside = said(Path::new("/etc/passwd"), Some(&folder)).unwrap();
        assert!(
            outside.starts_with("lists/a.file: /etc/passwd is not in"),
            "{outside}"
        );
        // Files outside are not revealed.
        assert_eq!(
            said(Path::new("/etc/passwd2"), Some(&folder)).unwrap(),
            outside.replace("passwd", "passwd2")
        );
        assert!(
            said(&folder.join("list"), None)
                .unwrap()
                .contains("http.files_dir")
        );
        let secret = list(&outer.path().join("secret"));
        assert!(files_out_of_reach(&secret, None, &[&secret]).is_empty());
        let elsewhere = Resources::from([(
            ResourceKey::new(ResourceKind::List, "b"),
            secret.values().next().unwrap().clone(),
        )]);
        assert_eq!(files_out_of_reach(&secret, None, &[&elsewhere]).len(), 1);
    }
}
