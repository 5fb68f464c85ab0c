//! Ten things that an administrator does, each by the command line and in the console: prepared, done, and checked by
//! other means than those that did it. Says how many commands and clicks each takes, which may not become more, and how
//! long; `scripts/tasks` shows it as a table.

mod desk;
mod scenes;

use std::time::Instant;

use desk::Desk;
use serde_json::{Value, json};

/// One of the ten.
struct Task {
    title: &'static str,
    /// Makes what there is to do; gives what the administrator knows of it.
    scene: fn(&mut Desk) -> Value,
    /// Does it by commands; gives what the administrator has learnt.
    by_command: fn(&mut Desk, &Value) -> String,
    /// Does it in the console, as a step of tests/clients/console_tasks.js.
    step: &'static str,
    /// Fails unless it is done, and learnt.
    is_done: fn(&mut Desk, &str),
    most_commands: u64,
    most_clicks: u64,
}

/// How one was done.
struct Took {
    /// Commands, or clicks.
    steps: u64,
    seconds: f64,
    learnt: String,
}

const TASKS: [Task; 10] = [
    Task {
        title: "Add an account, an operator and a route, and see a message through",
        scene: scenes::nothing_yet,
        by_command: scenes::add_and_send,
        step: "add_and_send",
        is_done: scenes::is_through,
        most_commands: 4,
        most_clicks: 14,
    },
    Task {
        title: "Find out why a message was not delivered",
        scene: scenes::a_failed_message,
        by_command: scenes::find_out_why,
        step: "find_out_why",
        is_done: scenes::says_why,
        most_commands: 2,
        most_clicks: 3,
    },
    Task {
        title: "Rotate the password of an operator",
        scene: scenes::another_password,
        by_command: scenes::rotate_password,
        step: "rotate_password",
        is_done: scenes::is_bound_again,
        most_commands: 1,
        most_clicks: 5,
    },
    Task {
        title: "Move what waits in a queue to another operator",
        scene: scenes::a_queue_that_stands,
        by_command: scenes::move_queue,
        step: "move_queue",
        is_done: scenes::went_elsewhere,
        most_commands: 1,
        most_clicks: 3,
    },
    Task {
        title: "Replay the failures of one operator since yesterday",
        scene: scenes::failures_of_an_operator,
        by_command: scenes::replay_failures,
        step: "replay_failures",
        is_done: scenes::are_replayed,
        most_commands: 2,
        most_clicks: 5,
    },
    Task {
        title: "Give a colleague a token that only reads",
        scene: scenes::nothing,
        by_command: scenes::give_token,
        step: "give_token",
        is_done: scenes::only_reads,
        most_commands: 1,
        most_clicks: 2,
    },
    Task {
        title: "Roll back a bad route",
        scene: scenes::a_bad_route,
        by_command: scenes::roll_back,
        step: "roll_back",
        is_done: scenes::goes_where_it_went,
        most_commands: 2,
        most_clicks: 5,
    },
    Task {
        title: "Find the account that sends most",
        scene: scenes::a_noisy_account,
        by_command: scenes::find_noisy,
        step: "find_noisy",
        is_done: scenes::is_the_noisy_one,
        most_commands: 1,
        most_clicks: 1,
    },
    Task {
        title: "Drain a node, and take it back into service",
        scene: scenes::a_watched_node,
        by_command: scenes::drain,
        step: "drain",
        is_done: scenes::was_drained,
        most_commands: 2,
        most_clicks: 4,
    },
    Task {
        title: "Export the last week",
        scene: scenes::a_week,
        by_command: scenes::export,
        step: "export_week",
        is_done: scenes::has_all,
        most_commands: 1,
        most_clicks: 3,
    },
];

#[test]
fn ten_tasks_take_few_commands_and_few_clicks() {
    let by_command = all(|desk, task, known| desk.timed(|desk| (task.by_command)(desk, known)));
    let in_console = all(|desk, task, known| desk.browse(task.step, known));
    let mut table = Vec::new();
    for (task, (command, console)) in TASKS.iter().zip(by_command.iter().zip(&in_console)) {
        table.push(json!({
            "task": task.title, "commands": command.steps, "command_s": command.seconds,
            "clicks": console.steps, "console_s": console.seconds,
        }));
        for (what, steps, most) in [
            ("commands", command.steps, task.most_commands),
            ("clicks", console.steps, task.most_clicks),
        ] {
            assert!(
                (1..=most).contains(&steps),
                "{}: {steps} {what}",
                task.title
            );
        }
    }
    // scripts/tasks says where they go.
    if let Some(file) = std::env::var_os("SMSC_TASKS") {
        std::fs::write(file, serde_json::to_string_pretty(&table).unwrap()).unwrap();
    }
}

/// Does all of them one way, with an SMSC of their own.
fn all(way: impl Fn(&mut Desk, &Task, &Value) -> Took) -> Vec<Took> {
    let mut desk = Desk::open();
    let mut all = Vec::new();
    for task in &TASKS {
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

    /// A step of tests/clients/console_tasks.js, from the overview of who has signed in.
    fn browse(&mut self, step: &str, known: &Value) -> Took {
        let done = self.step(step, known);
        Took {
            steps: done["clicks"].as_u64().unwrap(),
            seconds: done["ms"].as_f64().unwrap() / 1000.0,
            learnt: done["learnt"].as_str().unwrap_or_default().to_owned(),
        }
    }
}
