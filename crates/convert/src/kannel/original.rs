//! Kannel's own choice of a connection: `smsc2_rout` asks each with `smscconn_usable` (gw/smscconn.c of 1.4.5), prefers those
//! that prefer the message, and takes the one of them with the least load. Numbers and ids are compared as they are written.

use std::collections::BTreeSet;

use regex::Regex;

use super::groups::{self, KannelGroup};
use crate::original::{AskedWay, OriginalRouter, OriginalTarget, OriginalWay};
use crate::{ConversionNotes, ConversionRefused, FileReader, SourcePlace, SourceText};

/// The connections of a bearerbox, and the accounts of its boxes.
#[derive(Debug)]
pub struct KannelRouter {
    /// `unified-prefix` of `group = core`.
    unified_prefix: String,
    /// One for each target.
    connections: Vec<AskedConnection>,
    targets: Vec<OriginalTarget>,
    senders: Vec<BoxSender>,
}

#[derive(Debug)]
struct AskedConnection {
    place: SourcePlace,
    /// Why it never takes a message.
    takes_nothing: Option<&'static str>,
    ids: AskedLists,
    numbers: AskedLists,
}

/// The lists of a connection for smsc-ids, or those for numbers; `None` for a key that is not set.
#[derive(Debug)]
struct AskedLists {
    allowed: Option<Vec<String>>,
    denied: Option<Vec<String>>,
    preferred: Option<Vec<String>>,
    allowed_regex: Option<Regex>,
    denied_regex: Option<Regex>,
    preferred_regex: Option<Regex>,
}

/// Who sends, and which smsc-id that gives.
#[derive(Debug)]
struct BoxSender {
    name: String,
    /// Whatever the request says.
    forced: Option<String>,
    /// If the request says nothing.
    default: Option<String>,
    /// Whether there are requests with `smsc`.
    by_http: bool,
}

/// What a connection says of a message.
enum Usable {
    No(&'static str),
    Yes,
    Preferred(&'static str),
}

/// Reads the connections and accounts of these files; included ones and lists of logins are read with `read`.
///
/// # Errors
/// As of [`super::convert`]; also files without a connection, lists of logins that cannot be read, and expressions that cannot
/// be matched here.
pub fn router(
    sources: Vec<SourceText>,
    read: &mut FileReader<'_>,
) -> Result<KannelRouter, ConversionRefused> {
    let first = sources.first().map(|source| source.name.clone());
    let mut found = Vec::new();
    for source in sources {
        // What is noted of the syntax is in the report of the converter.
        groups::read(source, read, &mut found, &mut ConversionNotes::default(), 0)?;
    }
    let mut router = KannelRouter {
        unified_prefix: String::new(),
        connections: Vec::new(),
        targets: Vec::new(),
        senders: Vec::new(),
    };
    for group in &found {
        match group.kind.as_str() {
            "core" => router.unified_prefix = group.text("unified-prefix").to_owned(),
            "smsc" => router.add_connection(group)?,
            "sendsms-user" => router.senders.push(BoxSender {
                name: group.text("username").to_owned(),
                forced: set(group, "forced-smsc"),
                default: set(group, "default-smsc"),
                by_http: true,
            }),
            "opensmppbox" | "smppbox" => router.add_logins(group, read)?,
            _ => {}
        }
    }
    if router.targets.is_empty() {
        return Err(ConversionRefused {
            file: first.unwrap_or_default(),
            why: "there is no `group = smsc` in it to compare with; give kannel.conf".to_owned(),
        });
    }
    Ok(router)
}

fn set(group: &KannelGroup, key: &str) -> Option<String> {
    let value = group.text(key);
    (!value.is_empty()).then(|| value.to_owned())
}

/// A number with the official beginning in the place of the others: `+358,00358,0;+,00` (gw/utils.c, `normalize_number`).
fn unified(prefixes: &str, number: &str) -> String {
    for beginnings in prefixes.split(';') {
        let official = beginnings.split(',').next().unwrap_or_default();
        let mut all = beginnings.split(',').filter(|one| !one.is_empty());
        if let Some(rest) = all.find_map(|one| number.strip_prefix(one)) {
            return format!("{official}{rest}");
        }
    }
    number.to_owned()
}

// === impl KannelRouter ===

impl KannelRouter {
    fn add_connection(&mut self, group: &KannelGroup) -> Result<(), ConversionRefused> {
        let name = match group.text("smsc-id") {
            "" => group.text("host"),
            id => id,
        };
        let is_smpp = group.text("smsc") == "smpp";
        let has_port = !["", "0"].contains(&group.text("port"));
        let takes_nothing = if group.is_set("dead-start") {
            Some("dead-start")
        } else if is_smpp && !has_port && !group.is_set("transceiver-mode") {
            Some("it only receives")
        } else {
            None
        };
        self.connections.push(AskedConnection {
            place: group.place.clone(),
            takes_nothing,
            ids: AskedLists::of(group, "smsc-id")?,
            numbers: AskedLists::of(group, "prefix")?,
        });
        self.targets.push(OriginalTarget::at(
            name,
            group.text("host"),
            group.text("port"),
            group.text("smsc-username"),
        ));
        Ok(())
    }

    /// The logins of a box.
    fn add_logins(
        &mut self,
        group: &KannelGroup,
        read: &mut FileReader<'_>,
    ) -> Result<(), ConversionRefused> {
        let Some(logins) = group.get("smpp-logins") else {
            return Ok(());
        };
        let source =
            read(&logins.value, &logins.place.file).map_err(|error| ConversionRefused {
                file: logins.place.to_string(),
                why: format!(
                    "smpp-logins {:?}: {error}; put that file beside this one",
                    logins.value
                ),
            })?;
        for line in source.text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, _password, _system_type, ..] = words.as_slice() else {
                continue;
            };
            if !name.starts_with('#') {
                self.senders.push(BoxSender {
                    name: (*name).to_owned(),
                    forced: set(group, "route-to-smsc"),
                    default: None,
                    by_http: false,
                });
            }
        }
        Ok(())
    }

    /// The smsc-id that a message gets on its way to the bearerbox.
    fn id_of<'a>(&'a self, asked: &AskedWay<'a>) -> Option<&'a str> {
        let sender = self
            .senders
            .iter()
            .find(|sender| sender.name == asked.account)?;
        let requested = asked.smsc.filter(|_| sender.by_http);
        sender
            .forced
            .as_deref()
            .or(requested)
            .or(sender.default.as_deref())
    }
}

impl OriginalRouter for KannelRouter {
    fn accounts(&self) -> Vec<&str> {
        let names = self.senders.iter().map(|sender| sender.name.as_str());
        names.collect()
    }

    fn targets(&self) -> &[OriginalTarget] {
        &self.targets
    }

    fn ways(&self, asked: &AskedWay<'_>) -> Vec<OriginalWay> {
        let to = unified(&self.unified_prefix, asked.to);
        let id = self.id_of(asked);
        let (mut preferring, mut others) = (BTreeSet::new(), BTreeSet::new());
        let mut why = Vec::new();
        if let Some(id) = id {
            why.push(format!("it has the smsc-id {id}"));
        }
        for (place, connection) in self.connections.iter().enumerate() {
            let said = match connection.usable(&to, id) {
                Usable::No(key) => format!("refuses it: {key}"),
                Usable::Yes => {
                    others.insert(place);
                    "takes it".to_owned()
                }
                Usable::Preferred(key) => {
                    preferring.insert(place);
                    format!("prefers it: {key}")
                }
            };
            let name = &self.targets[place].name;
            why.push(format!("{}: {name} {said}", connection.place));
        }
        let steps = [preferring, others].into_iter();
        vec![OriginalWay {
            if_holds: Vec::new(),
            steps: steps.filter(|step| !step.is_empty()).collect(),
            why,
        }]
    }
}

// === impl AskedConnection ===

impl AskedConnection {
    fn usable(&self, to: &str, id: Option<&str>) -> Usable {
        if let Some(why) = self.takes_nothing {
            return Usable::No(why);
        }
        let ids = &self.ids;
        let named = |list: &Option<Vec<String>>| {
            let list = list.as_ref()?;
            Some(id.is_some_and(|id| list.iter().any(|one| one == id)))
        };
        let id_matches = |expression: &Option<Regex>| {
            let expression = expression.as_ref()?;
            Some(id.is_some_and(|id| expression.is_match(id)))
        };
        // Where ids are allowed, those denied are not looked at.
        match (named(&ids.allowed), named(&ids.denied)) {
            (Some(false), _) => return Usable::No("allowed-smsc-id"),
            (None, Some(true)) => return Usable::No("denied-smsc-id"),
            _ => {}
        }
        match (
            id_matches(&ids.allowed_regex),
            id_matches(&ids.denied_regex),
        ) {
            (Some(false), _) => return Usable::No("allowed-smsc-id-regex"),
            (None, Some(true)) => return Usable::No("denied-smsc-id-regex"),
            _ => {}
        }
        let numbers = &self.numbers;
        let begins = |list: &Option<Vec<String>>| {
            let list = list.as_ref()?;
            Some(list.iter().any(|prefix| to.starts_with(prefix.as_str())))
        };
        let matches = |expression: &Option<Regex>| Some(expression.as_ref()?.is_match(to));
        match (begins(&numbers.allowed), begins(&numbers.denied)) {
            (Some(false), None) => return Usable::No("allowed-prefix"),
            (None | Some(false), Some(true)) => return Usable::No("denied-prefix"),
            _ => {}
        }
        match (
            matches(&numbers.allowed_regex),
            matches(&numbers.denied_regex),
        ) {
            (Some(false), None) => return Usable::No("allowed-prefix-regex"),
            (None | Some(false), Some(true)) => return Usable::No("denied-prefix-regex"),
            _ => {}
        }
        for (prefers, key) in [
            (named(&ids.preferred), "preferred-smsc-id"),
            (begins(&numbers.preferred), "preferred-prefix"),
            (matches(&numbers.preferred_regex), "preferred-prefix-regex"),
        ] {
            if prefers == Some(true) {
                return Usable::Preferred(key);
            }
        }
        Usable::Yes
    }
}

// === impl AskedLists ===

impl AskedLists {
    /// The keys that end with this; lists are divided at each semicolon and nothing else.
    fn of(group: &KannelGroup, what: &str) -> Result<Self, ConversionRefused> {
        let list = |verb: &str| -> Option<Vec<String>> {
            let entry = group.get(&format!("{verb}-{what}"))?;
            let elements = entry.value.split(';').filter(|one| !one.is_empty());
            Some(elements.map(str::to_owned).collect())
        };
        let regex = |verb: &str| -> Result<Option<Regex>, ConversionRefused> {
            let key = format!("{verb}-{what}-regex");
            let Some(entry) = group.get(&key) else {
                return Ok(None);
            };
            Regex::new(&entry.value)
                .map(Some)
                .map_err(|_| ConversionRefused {
                    file: entry.place.to_string(),
                    why: format!(
                        "{key} = {:?} cannot be matched here; write the beginnings that it stands for",
                        entry.value
                    ),
                })
        };
        Ok(Self {
            allowed: list("allowed"),
            denied: list("denied"),
            preferred: list("preferred"),
            allowed_regex: regex("allowed")?,
            denied_regex: regex("denied")?,
            preferred_regex: regex("preferred")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = r#"
group = core
unified-prefix = "+44,0044,0;+,00"

group = smsc
smsc = smpp
smsc-id = acme
host = smpp.acme.example
port = 2775
smsc-username = gateway
denied-prefix = "+4477;+4478"
denied-smsc-id = premium

group = smsc
smsc = smpp
smsc-id = best
host = 192.0.2.7
port = 3700
smsc-username = us
allowed-prefix = "+44;+33"
denied-prefix = "+49;+441"
preferred-prefix = +447
preferred-smsc-id = premium

group = smsc
smsc = smpp
smsc-id = in
host = 192.0.2.7
receive-port = 3700

group = smsc
smsc = http
smsc-id = own
allowed-smsc-id = own
allowed-prefix-regex = "^\\+4[0-9]{11}$"

group = sendsms-user
username = shop
password = secret
forced-smsc = premium

group = sendsms-user
username = free
password = secret
default-smsc = own

group = opensmppbox
smpp-logins = logins.txt
"#;

    fn router_of(text: &str) -> Result<KannelRouter, ConversionRefused> {
        let source = SourceText {
            name: "kannel.conf".to_owned(),
            text: text.to_owned(),
        };
        let logins = SourceText {
            name: "logins.txt".to_owned(),
            text: "# name password type\nalice wonder VMA\n".to_owned(),
        };
        router(vec![source], &mut |_, _| Ok(logins.clone()))
    }

    fn steps(to: &str, account: &str, smsc: Option<&str>) -> String {
        let router = router_of(CONF).unwrap();
        let asked = AskedWay {
            to,
            account,
            from: None,
            smsc,
        };
        let ways = router.ways(&asked);
        assert_eq!(ways.len(), 1);
        let name = |place: &usize| router.targets()[*place].name.clone();
        let step = |step: &BTreeSet<usize>| step.iter().map(name).collect::<Vec<_>>().join("+");
        let steps: Vec<String> = ways[0].steps.iter().map(step).collect();
        steps.join(" then ")
    }

    #[test]
    fn connections_take_what_kannel_says() {
        for (to, account, smsc, expected) in [
            ("+33612345678", "alice", None, "acme+best"),
            ("+49171234567", "alice", None, "acme"),
            // Denied by one, preferred by the other.
            ("+447700900123", "alice", None, "best"),
            ("+447400900123", "alice", None, "best then acme"),
            // Allowed wins over denied.
            ("+441234567890", "alice", None, "acme+best"),
            // Written as people dial, and as no list has it.
            ("07700900123", "alice", None, "best"),
            ("447700900123", "alice", None, "acme+best"),
            // An account whose smsc-id is forced.
            ("+33612345678", "shop", Some("own"), "best"),
            ("+49171234567", "shop", None, ""),
            // A request may name one, or it is the default.
            ("+33612345678", "free", Some("premium"), "best"),
            ("+33612345678", "free", None, "acme+best"),
            ("+447400900123", "free", None, "best then acme+own"),
            // opensmppbox has no requests with smsc=.
            ("+33612345678", "alice", Some("premium"), "acme+best"),
        ] {
            assert_eq!(steps(to, account, smsc), expected, "{to} {account}");
        }
    }

    #[test]
    fn each_connection_says_why() {
        let router = router_of(CONF).unwrap();
        assert_eq!(router.accounts(), ["shop", "free", "alice"]);
        let asked = AskedWay {
            to: "+447700900123",
            account: "shop",
            ..AskedWay::default()
        };
        assert_eq!(
            router.ways(&asked)[0].why,
            [
                "it has the smsc-id premium",
                "kannel.conf:5: acme refuses it: denied-smsc-id",
                "kannel.conf:14: best prefers it: preferred-smsc-id",
                "kannel.conf:25: in refuses it: it only receives",
                "kannel.conf:31: own refuses it: allowed-smsc-id",
            ]
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let refused = router_of("group = core\nadmin-port = 1\n").unwrap_err();
        assert!(refused.why.contains("group = smsc"), "{refused}");
        let text = "group = smsc\nsmsc = smpp\nallowed-prefix-regex = \"(?!44)\"\n";
        let refused = router_of(text).unwrap_err();
        assert_eq!(refused.file, "kannel.conf:3");
    }

    #[test]
    fn beginnings_are_unified() {
        for (number, expected) in [
            ("0044770", "+44770"),
            ("0770", "+44770"),
            ("+44770", "+44770"),
            ("0033", "+44033"),
            ("33", "33"),
        ] {
            assert_eq!(unified("+44,0044,0;+,00", number), expected, "{number}");
        }
        assert_eq!(unified("+44,0044;+,00", "0033"), "+33");
        assert_eq!(unified("", "33"), "33");
    }
}
