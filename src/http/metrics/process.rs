//! Metrics of the process from the kernel, under the usual names of Prometheus clients.
//!
//! Read from `/proc/self`; where that does not exist, the families are left out.

use std::fs;

use super::gauges::{MetricKind, head, push};

/// Clock ticks per second in `/proc/self/stat`: USER_HZ is 100 on every Linux we build for.
const TICKS: f64 = 100.0;

/// Name, kind, help, and how the value is read.
pub(super) struct ProcessFamily {
    pub name: &'static str,
    pub kind: MetricKind,
    pub help: &'static str,
    read: fn() -> Option<f64>,
}

pub(super) const FAMILIES: &[ProcessFamily] = &[
    ProcessFamily {
        name: "process_cpu_seconds",
        kind: MetricKind::Counter,
        help: "User and system CPU time of the process.",
        read: || cpu_seconds(&fs::read_to_string("/proc/self/stat").ok()?),
    },
    ProcessFamily {
        name: "process_resident_memory_bytes",
        kind: MetricKind::Gauge,
        help: "Resident memory of the process.",
        read: || status("VmRSS:").map(|kib| kib * 1024.0),
    },
    ProcessFamily {
        name: "process_threads",
        kind: MetricKind::Gauge,
        help: "Threads of the process.",
        read: || status("Threads:"),
    },
    ProcessFamily {
        name: "process_open_fds",
        kind: MetricKind::Gauge,
        help: "Open file descriptors: connections, files of the store.",
        read: || {
            fs::read_dir("/proc/self/fd")
                .ok()
                .map(|files| files.count() as f64)
        },
    },
];

/// Appends what can be read.
pub(super) fn write(page: &mut String) {
    for family in FAMILIES {
        if let Some(value) = (family.read)() {
            head(page, family.name, family.kind, family.help);
            push(
                page,
                format_args!("{}{} {value}\n", family.name, family.kind.suffix()),
            );
        }
    }
}

/// utime and stime, fields 14 and 15. The name in field 2 may hold anything, so counting begins
/// behind its closing parenthesis.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11);
    let user: f64 = times.next()?.parse().ok()?;
    let system: f64 = times.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

fn status(key: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_fields_behind_the_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("nonsense"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn every_family_has_a_value_here() {
        let mut page = String::new();
        write(&mut page);
        for family in FAMILIES {
            assert!(page.contains(&format!("# TYPE {} ", family.name)), "{page}");
        }
        assert!(status("VmRSS:").unwrap() > 1000.0);
    }
}
