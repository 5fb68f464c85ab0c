//! The pages of `docs/`, as HTML with a list of contents and search: what a node serves at `/docs/`.
//!
//! Pure: the Markdown is part of the binary, and is rendered when it is asked for first. The HTTP side puts the
//! pages into a frame. What links to something outside `docs/` (sources, tests) stands there as text.

/// A page's name and its Markdown.
macro_rules! page {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../docs/", $name)))
    };
}

mod pages;
mod render;
mod search;

use std::sync::LazyLock;

pub use search::{Hit, search};

/// One page.
#[derive(Debug)]
pub struct Page {
    /// Its file in `docs/`, which is also the last part of its path.
    pub name: &'static str,
    pub title: String,
    /// What stands in `main`.
    pub html: String,
    pub sections: Vec<Section>,
}

/// What stands below one heading.
#[derive(Debug, Default)]
pub struct Section {
    /// 1 for the title of the page.
    pub level: u8,
    pub title: String,
    /// The `id` of the heading.
    pub anchor: String,
    /// Its words, without marks.
    pub text: String,
    /// Title and words in lower case, for the search.
    pub(crate) lower: (String, String),
}

/// One part of the manual: its title and its pages.
#[derive(Debug)]
pub struct Part {
    pub title: &'static str,
    pub pages: Vec<Page>,
}

/// All pages, in the order of the list of contents.
pub fn parts() -> &'static [Part] {
    static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| {
        let is_page = |name: &str| names().any(|known| known == name);
        let parts = pages::PARTS.iter();
        parts
            .map(|(title, pages)| Part {
                title,
                pages: pages
                    .iter()
                    .map(|(name, markdown)| render::render(name, markdown, is_page))
                    .collect(),
            })
            .collect()
    });
    &PARTS
}

/// The page of this name.
pub fn page(name: &str) -> Option<&'static Page> {
    let mut pages = parts().iter().flat_map(|part| &part.pages);
    pages.find(|page| page.name == name)
}

/// Where the content of a page of an earlier release is now: a page and the anchor of a section.
pub fn moved(name: &str) -> Option<&'static str> {
    let mut moved = pages::MOVED.iter();
    moved
        .find(|(known, _)| *known == name)
        .map(|(_, place)| *place)
}

fn names() -> impl Iterator<Item = &'static str> {
    pages::PARTS
        .iter()
        .flat_map(|(_, pages)| pages.iter().map(|(name, _)| *name))
}

/// A text as HTML.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    pulldown_cmark::html::push_html(
        &mut html,
        [pulldown_cmark::Event::Text(text.into())].into_iter(),
    );
    html
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_page_of_docs_is_in_the_list_of_contents() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".md"))
            .collect();
        assert_eq!(files, names().map(str::to_owned).collect());
    }

    /// Links between pages lead to a page that exists, and to a heading in it.
    #[test]
    fn links_between_pages_lead_somewhere() {
        let mut wrong = Vec::new();
        for page in parts().iter().flat_map(|part| &part.pages) {
            for link in page.html.split("href=\"").skip(1) {
                let link = &link[..link.find('"').unwrap()];
                let (name, anchor) = link.split_once('#').unwrap_or((link, ""));
                if name.contains("://") {
                    continue;
                }
                let target = super::page(if name.is_empty() { page.name } else { name });
                let sections = target.map_or(&[][..], |target| &target.sections);
                if !sections
                    .iter()
                    .any(|section| anchor.is_empty() || section.anchor == anchor)
                {
                    wrong.push(format!("{}: {link}", page.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn pages_of_earlier_releases_lead_to_a_section() {
        for (name, place) in pages::MOVED {
            assert!(page(name).is_none(), "{name}");
            assert_eq!(moved(name), Some(*place));
            let (to, anchor) = place.split_once('#').unwrap();
            let sections = &page(to).expect(place).sections;
            assert!(
                sections.iter().any(|section| section.anchor == anchor),
                "{place}"
            );
        }
        assert_eq!(moved("nothing.md"), None);
    }

    #[test]
    fn a_text_becomes_no_markup() {
        assert_eq!(escaped("a < b & \"c\""), "a &lt; b &amp; \"c\"");
    }
}
