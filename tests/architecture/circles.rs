//! Which files inside src/actors import one another in a circle, read from their syntax.
//!
//! An edge is a `use` or a path that resolves to another file; a name that a module re-exports by `pub
//! use` resolves to the file that defines it. Tests are left out, and so are declarations (`mod`) and
//! re-exports of a module's own children.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The existing circles: a module and files that divide its work. A file that joins one of them, or a
/// new circle, is a mistake: see "No circles" in docs/developers/architecture.md.
const CIRCLES: &[&[&str]] = &[
    &["billing::balance", "billing::balance::blocks"],
    &[
        "cluster",
        "cluster::counts",
        "cluster::release",
        "cluster::work",
    ],
    &[
        "receipts::correlation",
        "receipts::correlation::forms",
        "receipts::correlation::sweep",
        "receipts::correlation::unmatched",
    ],
    &["ingress::duplicates", "ingress::duplicates::shared"],
    &[
        "ingress::esme_session",
        "ingress::esme_session::life",
        "ingress::esme_session::multi",
        "ingress::esme_session::operations",
    ],
    &["receipts::final_state", "receipts::parts"],
    &["ingress::listener", "ingress::listener::entrance"],
    &["ingress::operations", "ingress::operations::find"],
    &[
        "egress::operator_session",
        "egress::operator_session::traffic",
    ],
    &["control::settings", "control::settings::config_change"],
    &["egress::throttle", "egress::throttle::shared"],
    &[
        "context::traced",
        "context::traced::attempt",
        "context::traced::failure",
    ],
];

/// The largest circle allowed.
const LARGEST: usize = 4;

/// Most `pub use` steps that are followed.
const PASSES: usize = 8;

type Names = Vec<String>;

/// The imports and definitions of one file.
#[derive(Default)]
struct File {
    /// By the name that this file uses.
    imports: Vec<Import>,
    /// Paths in types, patterns and expressions.
    paths: BTreeSet<Names>,
    /// Items that it defines.
    items: BTreeSet<String>,
}

#[derive(Clone)]
struct Import {
    path: Names,
    name: String,
    passes_on: bool,
}

#[test]
fn no_circle_of_files_grows() {
    let files = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        files.len() > 100,
        "{} files are too few to be all",
        files.len()
    );
    let edges: BTreeMap<&str, BTreeSet<String>> = files
        .keys()
        .map(|module| (module.as_str(), edges_of(module, &files)))
        .collect();
    let circles = circles(&edges);
    let is_known = |circle: &BTreeSet<&str>| {
        CIRCLES.iter().any(|known| {
            let known: BTreeSet<&str> = known.iter().copied().collect();
            circle.is_subset(&known)
        })
    };
    let wrong: Vec<String> = circles
        .iter()
        .map(|circle| circle.iter().map(|module| short(module)).collect())
        .filter(|circle: &BTreeSet<&str>| circle.len() > LARGEST || !is_known(circle))
        .map(|circle| {
            let inside = |from: &&str| {
                let from = format!("crate::actors::{from}");
                let to = edges[from.as_str()].iter().map(|to| short(to));
                let to: Vec<&str> = to.filter(|to| circle.contains(to)).collect();
                format!("  {} -> {}", short(&from), to.join(", "))
            };
            let lines: Vec<String> = circle.iter().map(inside).collect();
            format!("a circle of {}:\n{}", circle.len(), lines.join("\n"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn short(module: &str) -> &str {
    module.trim_start_matches("crate::actors::")
}

/// The files below src/actors by the path of their module.
fn read(source: &Path) -> HashMap<String, File> {
    let mut paths: Vec<PathBuf> = Vec::new();
    super::collect(&source.join("actors"), &mut paths);
    let modules = paths.iter().filter_map(|path| {
        let module = path.strip_prefix(source).ok()?.with_extension("");
        let module = module.to_str()?.replace('/', "::");
        let is_test = module
            .split("::")
            .any(|name| name == "tests" || name == "test_support");
        (!is_test).then(|| (format!("crate::{module}"), path))
    });
    modules
        .map(|(module, path)| {
            let text = fs::read_to_string(path).unwrap();
            let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let mut file = File::default();
            file.visit_file(&syntax);
            (module, file)
        })
        .collect()
}

fn edges_of(module: &str, files: &HashMap<String, File>) -> BTreeSet<String> {
    let file = &files[module];
    let mut edges = BTreeSet::new();
    let mut add = |path: Names, passes_on: bool| {
        let target = resolve(path, files, 0).filter(|target| target != module);
        let is_child = |target: &str| target.starts_with(&format!("{module}::"));
        if let Some(target) = target.filter(|target| !(passes_on && is_child(target))) {
            edges.insert(target);
        }
    };
    for import in &file.imports {
        let Some(path) = absolute(module, &import.path, files) else {
            continue;
        };
        if import.name != "*" {
            add(path, import.passes_on);
            continue;
        }
        // Only the names that are used of it.
        let Some(from) = files.get(&path.join("::")) else {
            continue;
        };
        for used in file.paths.iter().map(|path| &path[0]) {
            let known = from.imports.iter().find(|import| import.name == *used);
            if let Some(known) = known
                && let Some(known) = absolute(&path.join("::"), &known.path, files)
            {
                add(known, false);
            } else if from.items.contains(used) {
                add([&path[..], std::slice::from_ref(used)].concat(), false);
            }
        }
    }
    for path in &file.paths {
        let known = file.imports.iter().find(|import| import.name == path[0]);
        let path = match known {
            Some(import) => [&import.path[..], &path[1..]].concat(),
            None => path.clone(),
        };
        if let Some(path) = absolute(module, &path, files).filter(|path| path.len() > 1) {
            add(path, false);
        }
    }
    edges
}

/// A path from the root of the crate; `None` for paths of other crates.
fn absolute(module: &str, path: &[String], files: &HashMap<String, File>) -> Option<Names> {
    let mut here: Names = module.split("::").map(str::to_owned).collect();
    match path[0].as_str() {
        "crate" => return Some(path.to_vec()),
        "self" => {}
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            here.truncate(here.len() - ups);
            return Some([&here[..], &path[ups..]].concat());
        }
        child if files.contains_key(&format!("{module}::{child}")) => {
            return Some([&here[..], path].concat());
        }
        _ => return None,
    }
    Some([&here[..], &path[1..]].concat())
}

/// The file that a path resolves to.
fn resolve(path: Names, files: &HashMap<String, File>, passed: usize) -> Option<String> {
    let found = (1..=path.len()).rev().find_map(|length| {
        let module = path[..length].join("::");
        files.contains_key(&module).then_some((module, length))
    });
    let (module, length) = found?;
    if let Some(name) = path.get(length)
        && passed < PASSES
        && let Some(import) = files[&module]
            .imports
            .iter()
            .find(|import| import.name == *name)
        && let Some(further) = absolute(&module, &import.path, files)
    {
        let further = [&further[..], &path[length + 1..]].concat();
        return resolve(further, files, passed + 1);
    }
    Some(module)
}

/// Sets of files that all reach each other.
fn circles<'m>(edges: &BTreeMap<&'m str, BTreeSet<String>>) -> Vec<Vec<&'m str>> {
    let reach = |from: &str| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(module) = next.pop() {
            let targets = edges[module]
                .iter()
                .filter_map(|to| edges.get_key_value(to.as_str()));
            for (target, _) in targets {
                if seen.insert(*target) {
                    next.push(target);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges
        .keys()
        .map(|module| (*module, reach(module)))
        .collect();
    let mut left: BTreeSet<&str> = edges.keys().copied().collect();
    let mut all = Vec::new();
    while let Some(first) = left.pop_first() {
        let together =
            |other: &&&str| reached[first].contains(**other) && reached[**other].contains(first);
        let mut circle: Vec<&str> = left.iter().filter(together).copied().collect();
        left.retain(|module| !circle.contains(module));
        if !circle.is_empty() {
            circle.push(first);
            all.push(circle);
        }
    }
    all
}

// === impl File ===

impl File {
    fn import(&mut self, before: &[String], tree: &syn::UseTree, passes_on: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            syn::UseTree::Path(path) => {
                return self.import(&with(&path.ident), &path.tree, passes_on);
            }
            syn::UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.import(before, tree, passes_on));
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned().unwrap_or_default())
            }
            syn::UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(named) if named.ident == "self" => {
                (before.to_vec(), named.rename.to_string())
            }
            syn::UseTree::Rename(named) => (with(&named.ident), named.rename.to_string()),
            syn::UseTree::Glob(_) => (before.to_vec(), "*".to_owned()),
        };
        self.imports.push(Import {
            path,
            name,
            passes_on,
        });
    }
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Use(item) => (&item.attrs, None),
            syn::Item::Mod(item) => (&item.attrs, None),
            syn::Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Const(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Static(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Impl(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        let is_test = |attribute: &syn::Attribute| {
            let condition = attribute.meta.require_list();
            attribute.path().is_ident("cfg")
                && condition.is_ok_and(|list| list.tokens.to_string() == "test")
        };
        if attributes.iter().any(is_test) {
            return;
        }
        self.items.extend(name.map(syn::Ident::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let passes_on = !matches!(item.vis, syn::Visibility::Inherited);
        self.import(&[], &item.tree, passes_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter();
        let names: Names = names.map(|name| name.ident.to_string()).collect();
        // `pub(super)` names no item.
        if !matches!(
            names.last().map(String::as_str),
            Some("self" | "super" | "crate")
        ) {
            self.paths.insert(names);
        }
        visit::visit_path(self, path);
    }
}
