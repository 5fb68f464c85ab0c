//! Pages of lists in the order of names: `limit`, `after` and `find` of a query. Without them a list is whole.

use serde_json::Value;

use super::problem::Problem;
use super::query::Query;

/// Most characters of what is searched. It is held against every name, for live lists once a second.
pub(super) const LONGEST: usize = 256;

/// What a name must be like: words that all fit, in upper or lower case. A word without `*` is somewhere in the name, or
/// in the text beside it; one with `*` is the whole name, in which each `*` stands for any signs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NamePattern(Vec<String>);

/// Which entries of a list are wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct NamePage {
    pub find: NamePattern,
    /// Entries of a page; all without it.
    limit: Option<usize>,
    /// The name before the first one.
    after: Option<String>,
}

/// The wanted entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedEntries<T> {
    pub entries: Vec<T>,
    /// `after` of the next page.
    pub next_after: Option<String>,
    /// How many there are on all pages; `None` where no page was asked for.
    pub total: Option<u64>,
}

// === impl NamePattern ===

impl NamePattern {
    /// `find` of a query; without it everything fits.
    pub(super) fn read(query: &Query) -> Result<Self, Problem> {
        let text = query.text("find").unwrap_or_default();
        let length = text.chars().count();
        if length > LONGEST {
            let detail = format!("find has at most {LONGEST} characters, not {length}");
            return Err(Problem::bad_value("find", detail));
        }
        Ok(Self::new(text))
    }

    /// Of this text, whose words all have to fit.
    pub(super) fn new(text: &str) -> Self {
        let words = text.to_lowercase();
        Self(words.split_whitespace().map(str::to_owned).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a name with the text beside it is like this.
    pub(super) fn fits(&self, name: &str, beside: impl FnOnce() -> String) -> bool {
        if self.is_empty() {
            return true;
        }
        let (name, beside) = (name.to_lowercase(), beside().to_lowercase());
        self.0.iter().all(|word| {
            if word.contains('*') {
                is_like(&name, word)
            } else {
                name.contains(word.as_str()) || beside.contains(word.as_str())
            }
        })
    }
}

/// Whether a text is as a pattern with at least one `*` says.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts: Vec<&str> = pattern.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    let mut parts = parts.into_iter();
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

/// The keys of a resource that are set, with their values, as a search reads them.
pub(super) fn words_of(settings: &Value) -> String {
    let mut words = String::new();
    let keys = settings.as_object().into_iter().flatten();
    for (key, value) in keys.filter(|(_, value)| !value.is_null()) {
        words.push_str(key);
        words.push(' ');
        match value {
            Value::String(text) => words.push_str(text),
            value => words.push_str(&value.to_string()),
        }
        words.push(' ');
    }
    words
}

// === impl NamePage ===

impl NamePage {
    /// `limit`, `after` and `find` of a query.
    pub(super) fn read(query: &Query) -> Result<Self, Problem> {
        let after = query.text("after").map(str::to_owned);
        let is_asked = after.is_some() || query.text("limit").is_some();
        let limit = is_asked.then(|| query.limit()).transpose()?;
        Ok(Self {
            find: NamePattern::read(query)?,
            limit: limit.map(|limit| limit as usize),
            after,
        })
    }

    /// The page of a list; `name` is what identifies an entry.
    pub(super) fn cut<T>(&self, all: Vec<T>, name: impl Fn(&T) -> &str) -> NamedEntries<T> {
        let total = all.len();
        let Some(limit) = self.limit else {
            return NamedEntries {
                entries: all,
                next_after: None,
                total: None,
            };
        };
        let begin = self.after.as_deref().map_or(0, |after| {
            // By its place: the list may have another order than that of names.
            if let Some(place) = all.iter().position(|one| name(one) == after) {
                return place + 1;
            }
            // It was removed meanwhile. In another order nobody knows where it was: rather twice than left out.
            if !all.is_sorted_by(|one, other| name(one) <= name(other)) {
                return 0;
            }
            let behind = all.iter().position(|one| name(one) > after);
            behind.unwrap_or(total)
        });
        let entries: Vec<T> = all.into_iter().skip(begin).take(limit).collect();
        let last = entries.last().filter(|_| begin + entries.len() < total);
        NamedEntries {
            next_after: last.map(|last| name(last).to_owned()),
            total: Some(total as u64),
            entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_searched_is_short() {
        let read = |find: &str| {
            let request = TestRequest::with_uri(&format!("/?find={find}")).to_http_request();
            NamePattern::read(&Query::read(&request, &["find"]).unwrap())
        };
        assert!(read("").unwrap().is_empty());
        assert_eq!(read(&"*".repeat(LONGEST)).unwrap().0.len(), 1);
        let problem = read(&"a+".repeat(LONGEST)).unwrap_err().to_string();
        assert!(
            problem.ends_with("find has at most 256 characters, not 512"),
            "{problem}"
        );
    }

    #[test]
    fn a_pattern_is_a_part_of_the_name_or_all_of_it() {
        let fits = |pattern: &str, name: &str| NamePattern::new(pattern).fits(name, String::new);
        for pattern in [
            "",
            "SHOP",
            "count:s",
            "account:*",
            "*:sh*1",
            "acc shop-1",
            "*",
        ] {
            assert!(fits(pattern, "account:shop-1"), "{pattern}");
        }
        for pattern in [
            "shop-2",
            "shop*",
            "*shop",
            "account:*:*",
            "acc shop-2",
            "*1*1",
        ] {
            assert!(!fits(pattern, "account:shop-1"), "{pattern}");
        }
        let settings = json!({ "rate": 20, "note": null, "addresses": ["447700900123"] });
        let finds = |pattern: &str| NamePattern::new(pattern).fits("shop", || words_of(&settings));
        assert!(finds("447700900123") && finds("rate shop") && finds("20"));
        assert!(!finds("note") && !finds("4477009*"));
    }

    #[test]
    fn pages_follow_one_another_and_end() {
        let all = || vec!["a", "c", "e", "g", "b"];
        let page = |limit, after: Option<&str>| {
            let page = NamePage {
                limit,
                after: after.map(str::to_owned),
                ..NamePage::default()
            };
            let cut = page.cut(all(), |one| one);
            (cut.entries.concat(), cut.next_after, cut.total)
        };
        assert_eq!(page(None, None), ("acegb".to_owned(), None, None));
        let of_five = |entries: &str, next: Option<&str>| {
            (entries.to_owned(), next.map(str::to_owned), Some(5))
        };
        assert_eq!(page(Some(2), None), of_five("ac", Some("c")));
        assert_eq!(page(Some(2), Some("c")), of_five("eg", Some("g")));
        assert_eq!(page(Some(2), Some("g")), of_five("b", None));
        assert_eq!(page(Some(5), None), of_five("acegb", None));
        // Of one that was removed meanwhile the place is known only in the order of names.
        assert_eq!(page(Some(2), Some("d")), of_five("ac", Some("c")));
        let behind = |after: &str| {
            let page = NamePage {
                limit: Some(2),
                after: Some(after.to_owned()),
                ..NamePage::default()
            };
            page.cut(vec!["a", "c", "e"], |one| one).entries.concat()
        };
        assert_eq!(behind("b"), "ce");
        assert_eq!(behind("z"), "");
    }
}
