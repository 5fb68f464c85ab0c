//! Pages of lists of resources, which may be in the order of one of their keys: `limit`, `after`, `find` and `sort` of a
//! query.

use std::cmp::Ordering;

use serde_json::Value;

use super::name_page::{NamePage, NamedEntries, words_of};
use super::problem::Problem;
use super::query::Query;
use crate::config::resource_schema;
use crate::domain::settings::ResourceKind;

/// What stands for the name of a resource, whatever its own key for it is.
const NAME: &str = "name";

/// Which resources of a list are wanted, and in which order.
pub(super) struct ResourcePage {
    pub page: NamePage,
    /// `None`: as the list is.
    order: Option<KeyOrder>,
}

/// What a list is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyOrder {
    key: String,
    is_descending: bool,
}

// === impl ResourcePage ===

impl ResourcePage {
    /// `limit`, `after`, `find` and `sort` of a query.
    pub(super) fn read(query: &Query, kind: ResourceKind) -> Result<Self, Problem> {
        Ok(Self {
            page: NamePage::read(query)?,
            order: KeyOrder::read(query, kind)?,
        })
    }

    /// Whether names alone say what is on it.
    pub(super) fn is_by_name(&self) -> bool {
        self.page.find.is_empty() && self.order.is_none()
    }

    /// The page of a list; `of` is the name of an entry and its settings.
    pub(super) fn cut<T>(
        &self,
        mut all: Vec<T>,
        of: impl Fn(&T) -> (&str, &Value),
    ) -> NamedEntries<T> {
        all.retain(|one| {
            let (name, settings) = of(one);
            self.page.find.fits(name, || words_of(settings))
        });
        if let Some(order) = &self.order {
            order.sort(&mut all, &of);
        }
        self.page.cut(all, |one| of(one).0)
    }
}

// === impl KeyOrder ===

impl KeyOrder {
    /// `sort` of a query: `rate`, or `-rate` for the largest first; `None` without it.
    fn read(query: &Query, kind: ResourceKind) -> Result<Option<Self>, Problem> {
        let Some(text) = query.text("sort") else {
            return Ok(None);
        };
        let (key, is_descending) = match text.strip_prefix('-') {
            Some(key) => (key, true),
            None => (text, false),
        };
        let schema = resource_schema(kind).schema;
        let keys = schema["properties"].as_object();
        let mut known = keys.into_iter().flatten().map(|(known, _)| known.as_str());
        if key == NAME || known.any(|known| known == key) {
            return Ok(Some(Self {
                key: key.to_owned(),
                is_descending,
            }));
        }
        let keys: Vec<&str> = keys
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
            .collect();
        let (kind, keys) = (kind.plural(), keys.join(", "));
        let detail = format!(
            "{kind} are sorted by name or by one of their keys, with - in front for the largest first; not by {text:?}. The keys are {keys}"
        );
        Err(Problem::bad_value("sort", detail))
    }

    /// Sorts a list; `of` is the name of an entry and its settings. What is equal stays as it is, and what is not set is
    /// the smallest.
    fn sort<T>(&self, all: &mut [T], of: impl Fn(&T) -> (&str, &Value)) {
        let key = self.key.as_str();
        all.sort_by(|one, other| {
            let ((one_name, one), (other_name, other)) = (of(one), of(other));
            let order = if key == NAME {
                one_name.cmp(other_name)
            } else {
                compare(&one[key], &other[key])
            };
            if self.is_descending {
                order.reverse()
            } else {
                order
            }
        });
    }
}

/// Numbers by what they are, texts and lists by their letters.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => {
            let [one, other] = [one, other].map(|number| number.as_f64().unwrap_or_default());
            one.total_cmp(&other)
        }
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            one.to_string().cmp(&other.to_string())
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

/// The order of values of different kinds.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use serde_json::json;

    use super::*;

    fn read(sort: &str) -> Result<Option<KeyOrder>, Problem> {
        let request = TestRequest::with_uri(&format!("/?sort={sort}")).to_http_request();
        let query = Query::read(&request, &["sort"])?;
        KeyOrder::read(&query, ResourceKind::Account)
    }

    #[test]
    fn a_list_is_sorted_by_any_key() {
        let all = [
            ("a", json!({ "rate": 20, "enabled": true })),
            ("b", json!({ "rate": 3.5, "enabled": false, "note": "z" })),
            ("c", json!({ "rate": null, "enabled": true, "note": "A" })),
            ("d", json!({ "rate": 100, "enabled": false })),
        ];
        let sorted = |sort: &str| {
            let mut list = all.to_vec();
            let order = read(sort).unwrap().unwrap();
            order.sort(&mut list, |(name, settings)| (*name, settings));
            let names = list.into_iter().map(|(name, _)| name);
            names.collect::<String>()
        };
        assert_eq!(sorted("rate"), "cbad");
        assert_eq!(sorted("-rate"), "dabc");
        assert_eq!(sorted("-name"), "dcba");
        // What is equal stays in the order of names, either way.
        assert_eq!(sorted("enabled"), "bdac");
        assert_eq!(sorted("-enabled"), "acbd");
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert_eq!(read("").unwrap(), None);
        for sort in ["colour", "-colour", "-", "--rate", "RATE"] {
            let said = read(sort).unwrap_err().to_string();
            assert!(said.contains("accounts are sorted by name"), "{said}");
            assert!(said.contains("max_binds") && said.contains(sort), "{said}");
        }
    }
}
