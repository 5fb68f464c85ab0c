//! Who has signed in, by the claims of the issuer: a name, and the role that the groups give. Pure.

use serde_json::{Map, Value};

use crate::config::Oidc;
use crate::domain::access::AccessRole;

/// Longest name in octets, as the audit log has it.
const MAX_NAME: usize = 48;

/// Somebody whom the issuer has let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// How the issuer knows him, for ever.
    pub subject: String,
    /// The value of `name_claim`, or else the subject.
    pub name: String,
    /// `None`: none of the configured words is among the groups.
    pub role: Option<AccessRole>,
}

/// The claims of the ID token, and of userinfo where that says more.
pub(super) struct Claims(pub Map<String, Value>);

// === impl Claims ===

impl Claims {
    /// Whether the claims that matter are there.
    pub fn are_complete(&self, config: &Oidc) -> bool {
        self.find(&config.role_claim).is_some() && self.find(&config.name_claim).is_some()
    }

    /// Adds claims that are not there yet.
    pub fn add(&mut self, others: Map<String, Value>) {
        for (name, value) in others {
            self.0.entry(name).or_insert(value);
        }
    }

    pub fn person(&self, subject: &str, config: &Oidc) -> Person {
        let name = self.find(&config.name_claim).and_then(Value::as_str);
        let name = clean(name.unwrap_or_default());
        Person {
            name: if name.is_empty() {
                clean(subject)
            } else {
                name
            },
            subject: subject.to_owned(),
            role: self.role(config),
        }
    }

    /// The highest role that a group gives.
    fn role(&self, config: &Oidc) -> Option<AccessRole> {
        let words: Vec<&str> = match self.find(&config.role_claim)? {
            Value::String(word) => vec![word],
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let gives = |configured: &[String]| {
            words
                .iter()
                .any(|word| configured.iter().any(|one| one == word))
        };
        let roles = [
            (AccessRole::Admin, &config.role_admin),
            (AccessRole::Operate, &config.role_operate),
            (AccessRole::Read, &config.role_read),
        ];
        let mut roles = roles.into_iter();
        roles.find_map(|(role, configured)| gives(configured).then_some(role))
    }

    /// The claim with this name, or at the end of this path.
    fn find(&self, name: &str) -> Option<&Value> {
        if let Some(found) = self.0.get(name) {
            return Some(found);
        }
        let mut path = name.split('.');
        let first = self.0.get(path.next()?)?;
        path.try_fold(first, |value, part| value.get(part))
    }
}

/// A name that lists and logs can hold: signs that are neither letters nor digits nor usual in names become `_`.
fn clean(name: &str) -> String {
    let sign = |one: char| {
        if one.is_alphanumeric() || "._-@+".contains(one) {
            one
        } else {
            '_'
        }
    };
    let mut kept = String::new();
    for one in name.trim().chars().map(sign) {
        if kept.len() + one.len_utf8() > MAX_NAME {
            break;
        }
        kept.push(one);
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> Oidc {
        Oidc {
            role_read: vec!["staff".to_owned()],
            role_operate: vec!["noc".to_owned(), "night".to_owned()],
            role_admin: vec!["sms-admins".to_owned()],
            ..Oidc::default()
        }
    }

    fn claims(value: Value) -> Claims {
        let Value::Object(map) = value else {
            panic!("a table");
        };
        Claims(map)
    }

    #[test]
    fn the_highest_role_of_all_groups_counts() {
        for (groups, expected) in [
            (json!(["staff"]), Some(AccessRole::Read)),
            (json!("night"), Some(AccessRole::Operate)),
            (
                json!(["staff", "sms-admins", "noc"]),
                Some(AccessRole::Admin),
            ),
            (json!(["Staff", "others"]), None),
            (json!([]), None),
            (json!("staff noc"), None),
            (json!(true), None),
            (json!({"staff": true}), None),
            (Value::Null, None),
        ] {
            let person = claims(json!({"groups": groups})).person("s", &config());
            assert_eq!(person.role, expected, "{groups}");
        }
        assert_eq!(claims(json!({})).person("s", &config()).role, None);
    }

    #[test]
    fn a_dot_leads_into_a_table_unless_the_name_has_it() {
        let config = Oidc {
            role_claim: "realm_access.roles".to_owned(),
            ..config()
        };
        let nested = claims(json!({"realm_access": {"roles": ["noc"]}}));
        assert_eq!(nested.person("s", &config).role, Some(AccessRole::Operate));
        let plain =
            claims(json!({"realm_access.roles": "staff", "realm_access": {"roles": ["noc"]}}));
        assert_eq!(plain.person("s", &config).role, Some(AccessRole::Read));
    }

    #[test]
    fn names_fit_lists_and_logs() {
        let config = Oidc {
            name_claim: "email".to_owned(),
            ..config()
        };
        let named = |email: Value| {
            claims(json!({"email": email}))
                .person("sub-1", &config)
                .name
        };
        assert_eq!(
            named(json!("jane.doe+x@example.com")),
            "jane.doe+x@example.com"
        );
        assert_eq!(named(json!("Jané \n<b>")), "Jané___b_");
        assert_eq!(named(json!(" ")), "sub-1");
        assert_eq!(named(json!(17)), "sub-1");
        assert_eq!(named(json!("é".repeat(100))).len(), MAX_NAME);
    }

    #[test]
    fn what_the_token_says_wins() {
        let mut all = claims(json!({"groups": ["staff"]}));
        assert!(!all.are_complete(&config()));
        all.add(
            json!({"groups": ["sms-admins"], "sub": "x"})
                .as_object()
                .cloned()
                .unwrap(),
        );
        assert!(all.are_complete(&config()));
        assert_eq!(all.person("x", &config()).role, Some(AccessRole::Read));
    }
}
