//! The users of this machine by name, as /etc/passwd has them.
//!
//! Called when a program connects over a UNIX socket and users are configured by name. Users that another service has
//! (LDAP) are not found here: the configuration names those by their numbers.

use std::path::Path;

use crate::files;

const FILE: &str = "/etc/passwd";
/// Longest file that is read.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The names of a user, most often one. Empty if the file cannot be read.
pub fn names_of(uid: u32) -> Vec<String> {
    let text = files::read_text(Path::new(FILE), LONGEST).unwrap_or_default();
    names_in(&text, uid)
}

/// The names that `passwd` (5) has for this number.
fn names_in(text: &str, uid: u32) -> Vec<String> {
    let name = |line: &str| {
        let mut fields = line.split(':');
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(uid)).then(|| name.to_owned())
    };
    text.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_with_the_number() {
        let text = "root:x:0:0:root:/root:/bin/bash\n\nbroken\nweb:x:33:33::/:/bin/false\ntoor:x:0:0::/:\nbad:x:-1:0::/:\n";
        assert_eq!(names_in(text, 0), ["root", "toor"]);
        assert_eq!(names_in(text, 33), ["web"]);
        assert_eq!(names_in(text, 34), Vec::<String>::new());
    }

    #[test]
    fn this_machine_knows_its_first_user() {
        assert_eq!(names_of(0).first().map(String::as_str), Some("root"));
    }
}
