//! Where a command prints: how wide it is, and whether it shows colours.

use std::io::IsTerminal as _;

/// Standard output, as far as it decides how something looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// Columns of the terminal; `None` for a file or a pipe, which have room for everything.
    pub width: Option<usize>,
    /// Lines of the terminal.
    pub height: Option<usize>,
    /// Whether escape sequences may be written.
    pub in_colour: bool,
}

/// What a value means to who reads it. The text always says the same, for those who see no colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Worth a look.
    Warning,
    /// Does not work.
    Bad,
    /// Less important than the rest.
    Quiet,
    /// More important than the rest.
    Strong,
}

// === impl Screen ===

impl Screen {
    /// What standard output is. Colours are for terminals, unless `NO_COLOR` is set or `TERM` is `dumb`.
    pub fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self::default();
        }
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        let some = |count: u16| Some(usize::from(count)).filter(|count| *count > 0);
        Self {
            width: size.and_then(|size| some(size.ws_col)),
            height: size.and_then(|size| some(size.ws_row)),
            in_colour: !is_set("NO_COLOR") && !is_dumb,
        }
    }

    /// The text in the colour of its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match (self.in_colour && !text.is_empty(), tone.code()) {
            (true, Some(code)) => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

// === impl Tone ===

impl Tone {
    /// What the state of a queue, a bind, an operator, a node or a message means.
    pub fn of_state(state: &str) -> Self {
        let first = state.split([',', ' ']).next().unwrap_or_default();
        match state {
            "partly up" | "queue suspended" | "nobody bound" | "half open" => return Self::Warning,
            "another node is connected" => return Self::Plain,
            _ => {}
        }
        match first {
            "served" | "up" | "bound" | "alive" | "connected" | "DELIVERED" | "ACCEPTED" => {
                Self::Good
            }
            "suspended" | "paused" | "waiting" | "draining" | "connecting" | "ENROUTE"
            | "SCHEDULED" => Self::Warning,
            "down" | "lost" | "away" | "UNDELIVERABLE" | "EXPIRED" | "REJECTED" | "UNKNOWN"
            | "DELETED" => Self::Bad,
            _ => Self::Plain,
        }
    }

    /// Of the sequence that selects it (ECMA-48, SGR).
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("32"),
            Self::Warning => Some("33"),
            Self::Bad => Some("31"),
            Self::Quiet => Some("2"),
            Self::Strong => Some("1"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let plain = Screen::default();
        assert_eq!(plain.paint(Tone::Bad, "down"), "down");
        let colour = Screen {
            in_colour: true,
            ..plain
        };
        assert_eq!(colour.paint(Tone::Bad, "down"), "\x1b[31mdown\x1b[0m");
        assert_eq!(colour.paint(Tone::Plain, "x"), "x");
        assert_eq!(colour.paint(Tone::Good, ""), "");
    }

    #[test]
    fn states_have_a_tone() {
        for (state, tone) in [
            ("served", Tone::Good),
            ("paused, resume it", Tone::Warning),
            ("waiting, again in 5 s", Tone::Warning),
            ("partly up", Tone::Warning),
            ("down", Tone::Bad),
            ("standby", Tone::Plain),
        ] {
            assert_eq!(Tone::of_state(state), tone, "{state}");
        }
    }
}
