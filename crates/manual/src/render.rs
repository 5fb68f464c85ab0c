//! Markdown to HTML: headings that can be linked to, tables and code that can be scrolled, no raw HTML.

use std::collections::HashMap;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use crate::{Page, Section};

/// Renders one page; `is_page` tells which links lead to another one.
pub(crate) fn render(name: &'static str, markdown: &str, is_page: impl Fn(&str) -> bool) -> Page {
    let events: Vec<Event> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let mut renderer = Renderer {
        is_page,
        out: Vec::with_capacity(events.len()),
        sections: Vec::new(),
        anchors: HashMap::new(),
        is_link_dropped: false,
    };
    for (at, event) in events.iter().enumerate() {
        renderer.take(event.clone(), &events[at + 1..]);
    }
    let mut page = String::with_capacity(markdown.len() * 2);
    html::push_html(&mut page, renderer.out.into_iter());
    for section in &mut renderer.sections {
        section.lower = (section.title.to_lowercase(), section.text.to_lowercase());
    }
    let title = renderer
        .sections
        .first()
        .map_or(name, |section| &section.title);
    Page {
        name,
        title: title.to_owned(),
        html: page,
        sections: renderer.sections,
    }
}

struct Renderer<'a, F> {
    is_page: F,
    out: Vec<Event<'a>>,
    sections: Vec<Section>,
    /// How often an anchor was given.
    anchors: HashMap<String, usize>,
    is_link_dropped: bool,
}

// === impl Renderer ===

impl<'a, F: Fn(&str) -> bool> Renderer<'a, F> {
    fn take(&mut self, event: Event<'a>, rest: &[Event<'a>]) {
        self.note(&event);
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let section = self.section(level, words(rest));
                self.out.push(Event::Start(Tag::Heading {
                    level,
                    id: Some(section.anchor.clone().into()),
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }));
                self.sections.push(section);
            }
            // Wide ones are scrolled by themselves, by keyboard too.
            Event::Start(Tag::Table(_)) => {
                self.raw("<div class=\"wide\" tabindex=\"0\">");
                self.out.push(event);
            }
            Event::End(TagEnd::Table) => {
                self.out.push(event);
                self.raw("</div>");
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented)) => {
                self.raw("<pre tabindex=\"0\"><code>");
            }
            Event::End(TagEnd::CodeBlock) => self.raw("</code></pre>\n"),
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                self.is_link_dropped = !self.leads_somewhere(dest_url);
                if !self.is_link_dropped {
                    self.out.push(event);
                }
            }
            Event::End(TagEnd::Link) if self.is_link_dropped => {}
            Event::Html(text) | Event::InlineHtml(text) => self.out.push(Event::Text(text)),
            other => self.out.push(other),
        }
    }

    fn raw(&mut self, html: &'static str) {
        self.out.push(Event::Html(CowStr::Borrowed(html)));
    }

    fn leads_somewhere(&self, url: &str) -> bool {
        let page = url.split('#').next().unwrap_or_default();
        url.starts_with('#') || url.contains("://") || (self.is_page)(page)
    }

    /// Adds the words of an event to the section that it is in.
    fn note(&mut self, event: &Event) {
        let Some(section) = self.sections.last_mut() else {
            return;
        };
        match event {
            Event::Text(text) | Event::Code(text) => section.text.push_str(text),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::TableCell | TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_),
            ) => {
                section.text.push(' ');
            }
            _ => {}
        }
    }

    fn section(&mut self, level: HeadingLevel, title: String) -> Section {
        let plain = anchor(&title);
        let times = self.anchors.entry(plain.clone()).or_default();
        let anchor = match *times {
            0 => plain,
            again => format!("{plain}-{again}"),
        };
        *times += 1;
        Section {
            level: level as u8,
            title,
            anchor,
            ..Section::default()
        }
    }
}

/// The words up to the end of a heading.
fn words(events: &[Event]) -> String {
    events
        .iter()
        .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(&**text),
            _ => None,
        })
        .collect()
}

/// As GitHub and GitLab make them, so that a link works there and here.
fn anchor(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(markdown: &str) -> Page {
        render("a.md", markdown, |name| name == "b.md")
    }

    #[test]
    fn headings_can_be_linked_to() {
        let page = rendered("# One\n\n## Two, and `three`\n\nx\n\n## Two, and three\n");
        assert_eq!(page.title, "One");
        let anchors: Vec<&str> = page
            .sections
            .iter()
            .map(|section| &*section.anchor)
            .collect();
        assert_eq!(anchors, ["one", "two-and-three", "two-and-three-1"]);
        assert!(
            page.html
                .contains("<h2 id=\"two-and-three\">Two, and <code>three</code></h2>")
        );
    }

    #[test]
    fn links_out_of_the_manual_are_text() {
        let page = rendered("[b](b.md#x) [c](../src/c.rs) [d](https://d.example/) [e](#e)");
        assert_eq!(
            page.html,
            "<p><a href=\"b.md#x\">b</a> c <a href=\"https://d.example/\">d</a> <a href=\"#e\">e</a></p>\n"
        );
    }

    #[test]
    fn markup_in_a_page_is_text() {
        let page = rendered("a <b>c</b>\n\n<script>d</script>\n");
        assert!(
            !page.html.contains("<b>") && !page.html.contains("<script>"),
            "{}",
            page.html
        );
    }

    #[test]
    fn tables_and_code_can_be_scrolled_by_keyboard() {
        let page = rendered("| a |\n|---|\n| b |\n\n```sh\nc < d\n```\n");
        assert!(
            page.html
                .contains("<div class=\"wide\" tabindex=\"0\"><table>"),
            "{}",
            page.html
        );
        assert!(
            page.html
                .contains("<pre tabindex=\"0\"><code>c &lt; d\n</code></pre>"),
            "{}",
            page.html
        );
    }
}
