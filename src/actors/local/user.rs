//! Who a program runs as, as the kernel says it (SO_PEERCRED, unix (7)).

/// Characters of what a program calls itself.
const PROGRAM: usize = 64;

/// Who a program runs as.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub uid: u32,
    /// `None` if it is in a namespace that we do not see.
    pub pid: Option<i32>,
}

// === impl User ===

impl User {
    /// For people: the user, the process, and what the program calls itself.
    pub(super) fn shown(self, program: &str) -> String {
        let mut text = format!("uid {}", self.uid);
        if let Some(pid) = self.pid {
            text.push_str(&format!(", pid {pid}"));
        }
        let program: String = program
            .chars()
            .filter(|one| !one.is_control())
            .take(PROGRAM)
            .collect();
        if !program.is_empty() {
            text.push_str(&format!(", {program}"));
        }
        text
    }
}

impl From<tokio::net::unix::UCred> for User {
    fn from(cred: tokio::net::unix::UCred) -> Self {
        Self {
            uid: cred.uid(),
            pid: cred.pid(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_calls_itself_stays_one_short_line() {
        let user = User {
            uid: 33,
            pid: Some(7),
        };
        assert_eq!(user.shown("cron"), "uid 33, pid 7, cron");
        assert_eq!(user.shown("a\nb\x1b[1m"), "uid 33, pid 7, ab[1m");
        assert_eq!(User { uid: 0, pid: None }.shown(""), "uid 0");
        let long = user.shown(&"я".repeat(1_000));
        assert_eq!(long.chars().count(), "uid 33, pid 7, ".len() + PROGRAM);
    }
}
