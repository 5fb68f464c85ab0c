//! What an administrator does, each task by the command line and in the console: prepared, done, and checked by other means
//! than those that did it. Counts the commands and clicks that each takes, which may not become more, and the seconds;
//! `scripts/tasks` shows them as tables.

pub mod desk;
pub mod new_customer;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use desk::Desk;

/// No task may take more.
const MOST_COMMANDS: u64 = 2;
const MOST_CLICKS: u64 = 6;

/// One of them.
pub struct Task {
    pub title: &'static str,
    /// Makes what there is to do; gives what the administrator knows of it.
    pub scene: fn(&mut Desk) -> Value,
    /// Does it by commands; gives what the administrator has learnt.
    pub by_command: fn(&mut Desk, &Value) -> String,
    /// Does it in the console, as a step of the desk's script.
    pub step: &'static str,
    /// Fails unless it is done, and learnt.
    pub is_done: fn(&mut Desk, &str),
    pub most_commands: u64,
    pub most_clicks: u64,
}

/// How one was done.
struct Took {
    /// Commands, or clicks.
    steps: u64,
    seconds: f64,
    learnt: String,
}

/// Does all of them both ways, each way at a desk of its own; fails if one takes more than it may.
pub fn count(name: &str, tasks: &[Task], open: fn() -> Desk) {
    let by_command = all(tasks, open(), |desk, task, known| {
        desk.timed(|desk| (task.by_command)(desk, known))
    });
    let in_console = all(tasks, open(), |desk, task, known| {
        desk.browse(task.step, known)
    });
    let done = || tasks.iter().zip(by_command.iter().zip(&in_console));
    // scripts/tasks says where they go.
    if let Some(folder) = std::env::var_os("SMSC_TASKS") {
        let rows = done().map(|(task, (command, console))| {
            json!({
                "task": task.title, "commands": command.steps, "command_s": command.seconds,
                "clicks": console.steps, "console_s": console.seconds,
            })
        });
        let table = Value::Array(rows.collect());
        std::fs::write(
            PathBuf::from(folder).join(format!("{name}.json")),
            table.to_string(),
        )
        .unwrap();
    }
    for (task, (command, console)) in done() {
        for (what, steps, may, most) in [
            ("commands", command.steps, task.most_commands, MOST_COMMANDS),
            ("clicks", console.steps, task.most_clicks, MOST_CLICKS),
        ] {
            assert!(may <= most, "{}: {may} {what} are too many", task.title);
            assert!((1..=may).contains(&steps), "{}: {steps} {what}", task.title);
        }
    }
}

/// Does all of them one way, at this desk.
fn all(
    tasks: &[Task],
    mut desk: Desk,
    way: impl Fn(&mut Desk, &Task, &Value) -> Took,
) -> Vec<Took> {
    let mut all = Vec::new();
    for task in tasks {
        let known = (task.scene)(&mut desk);
        let took = way(&mut desk, task, &known);
        (task.is_done)(&mut desk, &took.learnt);
        all.push(took);
    }
    desk.smsc.assert_no_panic();
    all
}

// === impl Desk ===

impl Desk {
    /// Something done by commands.
    fn timed(&mut self, act: impl FnOnce(&mut Self) -> String) -> Took {
        let (before, began) = (self.commands, Instant::now());
        let learnt = act(self);
        Took {
            steps: self.commands - before,
            seconds: began.elapsed().as_secs_f64(),
            learnt,
        }
    }

    /// A step of its script, from the overview of who has signed in.
    fn browse(&mut self, step: &str, known: &Value) -> Took {
        let done = self.step(step, known);
        Took {
            steps: done["clicks"].as_u64().unwrap(),
            seconds: done["ms"].as_f64().unwrap() / 1000.0,
            learnt: done["learnt"].as_str().unwrap_or_default().to_owned(),
        }
    }
}
