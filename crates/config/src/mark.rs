//! Marks of the fields of `settings!`: what a value must be, said once for its check, its error and the documentation.
//!
//! A mark stands before the name of its field, as `@positive` or `@at_least(1)`, and is a function here. It is about every
//! single value of the field: that of an option if there is one, each one of a list. What depends on other fields, or on
//! other tables, is checked in `validate`.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value as Json, json};

use super::problem::ConfigProblem;
use super::setting::{Leaf, Setting};
use smsc_domain::allow::IpNetwork;

/// Longest name of a resource: it is part of keys, paths and file names.
const MAX_NAME: usize = 64;
/// system_id: 16 octets with the closing NUL (SMPP 3.4 §5.2.1).
pub(crate) const MAX_SYSTEM_ID: usize = 15;
/// system_type: 13 octets with the closing NUL (SMPP 3.4 §5.2.3).
pub(crate) const MAX_SYSTEM_TYPE: usize = 12;
/// Digits of the longest address (SMPP 3.4 §5.2.9), and so of a prefix.
pub(crate) const MAX_DIGITS: usize = 20;
/// Beyond it a window no longer bounds anything.
pub(crate) const MAX_WINDOW: u32 = 65_535;

/// Puts what is wrong with a field of this key into a list.
type Look<S> = Box<dyn Fn(&S, &str, &mut Vec<ConfigProblem>)>;

/// One mark of a field of this type.
pub(crate) struct FieldMark<S> {
    pub(crate) words: MarkWords,
    look: Look<S>,
}

/// What the documentation says of a mark.
#[derive(Default)]
pub(crate) struct MarkWords {
    /// Behind the sentence of the key.
    doc: String,
    /// Bounds in the JSON Schema of a value; only those that are numbers count.
    bounds: Vec<(&'static str, Json)>,
    /// The key must be given.
    required: bool,
}

/// What may be empty.
pub(crate) trait MaybeEmpty {
    fn has_content(&self) -> bool;
}

// === impl FieldMark ===

impl<S: Setting> FieldMark<S> {
    /// A mark that looks at every single value: what is wrong with it, and what to write instead.
    fn each(wrong: impl Fn(&S::Single) -> Option<String> + 'static) -> Self {
        let look = move |field: &S, key: &str, problems: &mut Vec<ConfigProblem>| {
            field.each(key, &mut |one, key| {
                problems.extend(wrong(one).map(|message| ConfigProblem::new(key, message)));
            });
        };
        Self {
            words: MarkWords::default(),
            look: Box::new(look),
        }
    }

    /// What the documentation says of it.
    fn documented(mut self, doc: String, bounds: Vec<(&'static str, Json)>) -> Self {
        (self.words.doc, self.words.bounds) = (doc, bounds);
        self
    }

    /// Adds what is wrong with the field of this key.
    pub(crate) fn check(&self, field: &S, key: &str, problems: &mut Vec<ConfigProblem>) {
        (self.look)(field, key, problems);
    }
}

// === What settings! makes of the words ===

/// The documentation of a key: its own lines, and what its marks say.
pub(crate) fn doc_of(lines: &[&str], marks: &[MarkWords]) -> String {
    let own = lines.iter().map(|line| line.trim());
    let more = marks.iter().map(|mark| mark.doc.as_str());
    let all = own.chain(more.filter(|doc| !doc.is_empty()));
    all.collect::<Vec<_>>().join(" ")
}

/// Whether one of the marks says that the key must be given.
pub(crate) fn is_required(marks: &[MarkWords]) -> bool {
    marks.iter().any(|mark| mark.required)
}

/// The JSON Schema of a key with the bounds of its marks.
pub(crate) fn bounded(mut schema: Json, marks: &[MarkWords]) -> Json {
    for (name, bound) in marks.iter().flat_map(|mark| &mark.bounds) {
        if bound.is_number() {
            match schema.get_mut("items") {
                Some(one) => one[*name] = bound.clone(),
                None => schema[*name] = bound.clone(),
            }
        }
    }
    schema
}

// === The marks ===

/// It must be given, which forms and the documentation say. Whether it is, is checked by [`filled`], or in `validate`.
pub(crate) fn required<S: Setting>() -> FieldMark<S> {
    let mut mark = FieldMark::<S>::each(|_| None);
    mark.words.required = true;
    mark
}

/// What holds for a value, and the error otherwise; its documentation is the sentence of the key.
pub(crate) fn must<S: Setting>(
    holds: impl Fn(&S::Single) -> bool + 'static,
    otherwise: &'static str,
) -> FieldMark<S> {
    FieldMark::<S>::each(move |one| (!holds(one)).then(|| otherwise.to_owned()))
}

/// What tells what is wrong with a value, and what to write instead.
pub(crate) fn valid<S: Setting>(
    check: impl Fn(&S::Single) -> Result<(), String> + 'static,
) -> FieldMark<S> {
    FieldMark::<S>::each(move |one| check(one).err())
}

/// It is not empty; the error otherwise.
pub(crate) fn filled<S: Setting + MaybeEmpty>(otherwise: &'static str) -> FieldMark<S> {
    let look = move |field: &S, key: &str, problems: &mut Vec<ConfigProblem>| {
        if !field.has_content() {
            problems.push(ConfigProblem::new(key, otherwise));
        }
    };
    FieldMark {
        words: MarkWords::default(),
        look: Box::new(look),
    }
}

/// A list of pauses: not empty.
pub(crate) fn pauses<S: Setting<Single = Duration> + MaybeEmpty>() -> FieldMark<S> {
    filled::<S>("is empty; write at least one pause, such as [\"30m\"]")
}

/// A number or a duration that is not less.
pub(crate) fn at_least<S: Setting<Single: Leaf + PartialOrd>>(least: S::Single) -> FieldMark<S> {
    let doc = format!("At least {}.", plain(&least));
    let bounds = vec![("minimum", least.json())];
    let message = format!("must be at least {}", Leaf::show(&least));
    let mark = FieldMark::<S>::each(move |one| (*one < least).then(|| message.clone()));
    mark.documented(doc, bounds)
}

/// A number or a duration that is not more, and why.
pub(crate) fn at_most<S: Setting<Single: Leaf + PartialOrd>>(
    most: S::Single,
    why: &'static str,
) -> FieldMark<S> {
    let doc = format!("At most {}.", plain(&most));
    let bounds = vec![("maximum", most.json())];
    let message = format!("must be at most {}: {why}", Leaf::show(&most));
    let mark = FieldMark::<S>::each(move |one| (*one > most).then(|| message.clone()));
    mark.documented(doc, bounds)
}

/// A number or a duration within these, both included.
pub(crate) fn between<S: Setting<Single: Leaf + PartialOrd>>(
    least: S::Single,
    most: S::Single,
) -> FieldMark<S> {
    within::<S>(least, most, "")
}

/// A number of octets within these, both included.
pub(crate) fn octets<S: Setting<Single: Leaf + PartialOrd>>(
    least: S::Single,
    most: S::Single,
) -> FieldMark<S> {
    within::<S>(least, most, " octets")
}

fn within<S: Setting<Single: Leaf + PartialOrd>>(
    least: S::Single,
    most: S::Single,
    unit: &str,
) -> FieldMark<S> {
    let doc = format!("{} to {}{unit}.", plain(&least), plain(&most));
    let bounds = vec![("minimum", least.json()), ("maximum", most.json())];
    let message = format!(
        "must be between {} and {}{unit}",
        plain(&least),
        plain(&most)
    );
    let fits = move |one: &S::Single| *one >= least && *one <= most;
    FieldMark::<S>::each(move |one| (!fits(one)).then(|| message.clone())).documented(doc, bounds)
}

/// As people read it in a sentence, without quotes.
fn plain(value: &impl Leaf) -> String {
    Leaf::show(value).trim_matches('"').to_owned()
}

/// A duration that is not "0s".
pub(crate) fn positive<S: Setting<Single = Duration>>() -> FieldMark<S> {
    let mark = must::<S>(|one| !one.is_zero(), "must be longer than \"0s\"");
    mark.documented("Longer than \"0s\".".to_owned(), Vec::new())
}

/// A part of all, from none to all.
pub(crate) fn share<S: Setting<Single = f64>>() -> FieldMark<S> {
    let is_share = |one: &f64| (0.0..=1.0).contains(one);
    let mark = must::<S>(is_share, "must be between 0 (none) and 1 (all)");
    let bounds = vec![("minimum", json!(0)), ("maximum", json!(1))];
    mark.documented("0 to 1.".to_owned(), bounds)
}

/// A rate per second.
pub(crate) fn rate<S: Setting<Single = f64>>() -> FieldMark<S> {
    let is_rate = |one: &f64| *one > 0.0 && one.is_finite();
    let mark = must::<S>(is_rate, "must be above 0; remove the key for no limit");
    mark.documented("Above 0.".to_owned(), vec![("exclusiveMinimum", json!(0))])
}

/// A C-octet string of the standard: printable, and not longer.
pub(crate) fn text<S: Setting<Single = String>>(most: usize) -> FieldMark<S> {
    let mark = FieldMark::<S>::each(move |one| not_a_text(one, most));
    let bounds = vec![("maxLength", json!(most))];
    mark.documented(format!("At most {most} octets."), bounds)
}

/// Why it is no C-octet string of the standard of this length.
pub(crate) fn not_a_text(text: &str, most: usize) -> Option<String> {
    if text.len() > most {
        let octets = text.len();
        return Some(format!("has {octets} octets; the standard allows {most}"));
    }
    let is_plain = text.bytes().all(|octet| (0x20..0x7F).contains(&octet));
    (!is_plain).then(|| "must be printable ASCII".to_owned())
}

/// Digits, one and not more than these.
pub(crate) fn digits<S: Setting<Single = String>>(most: usize) -> FieldMark<S> {
    let message = format!("must be up to {most} digits");
    let mark = FieldMark::<S>::each(move |one| {
        let is_number = one.bytes().all(|octet| octet.is_ascii_digit());
        let fits = is_number && (1..=most).contains(&one.len());
        (!fits).then(|| message.clone())
    });
    mark.documented(
        format!("At most {most} digits."),
        vec![("maxLength", json!(most))],
    )
}

/// An IP address or a CIDR block.
pub(crate) fn network<S: Setting<Single = String>>() -> FieldMark<S> {
    let check = |one: &String| one.parse::<IpNetwork>().map_err(|error| error.to_string());
    valid::<S>(move |one| check(one).map(drop))
}

/// The name of a resource.
pub(crate) fn name<S: Setting<Single = String>>() -> FieldMark<S> {
    let mark = FieldMark::<S>::each(|one| match one.as_str() {
        "" => Some("is missing".to_owned()),
        name if is_name(name) => None,
        _ => Some(format!(
            "must be up to {MAX_NAME} letters, digits, `-`, `_` or `.`"
        )),
    });
    let doc = format!("At most {MAX_NAME} letters, digits, `-`, `_` and `.`.");
    mark.documented(doc, vec![("maxLength", json!(MAX_NAME))])
}

/// Whether it may be the name of a resource.
pub(crate) fn is_name(text: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(allowed)
}

/// The command_status of a refusal; what to write instead of ESME_ROK, and why.
pub(crate) fn refusal<S: Setting<Single = u32>>(otherwise: &str) -> FieldMark<S> {
    let message = format!("must not be ESME_ROK: {otherwise}");
    let mark = FieldMark::<S>::each(move |one| (*one == 0).then(|| message.clone()));
    mark.documented("Not ESME_ROK.".to_owned(), Vec::new())
}

/// The URL of a PostgreSQL. It is never shown: it holds a password.
pub(crate) fn postgres_url<S: Setting<Single = SecretString>>() -> FieldMark<S> {
    let is_url = |one: &SecretString| {
        let url = one.expose_secret();
        url.starts_with("postgres://") || url.starts_with("postgresql://")
    };
    let otherwise = "is no such URL; write \"postgres://user:password@host/database\"";
    must::<S>(is_url, otherwise)
}

// === impl MaybeEmpty ===

impl<T> MaybeEmpty for Vec<T> {
    fn has_content(&self) -> bool {
        !self.is_empty()
    }
}

impl MaybeEmpty for String {
    fn has_content(&self) -> bool {
        !self.is_empty()
    }
}

impl MaybeEmpty for SecretString {
    fn has_content(&self) -> bool {
        !self.expose_secret().is_empty()
    }
}

/// What is not there is not empty.
impl<T: MaybeEmpty> MaybeEmpty for Option<T> {
    fn has_content(&self) -> bool {
        self.as_ref().is_none_or(T::has_content)
    }
}
