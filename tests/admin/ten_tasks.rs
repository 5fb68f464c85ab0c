//! Ten things that an administrator does, by the command line and in the console.

mod scenes;

use crate::tasks::desk::{Desk, empty};
use crate::tasks::{Task, count, new_customer};

const TASKS: [Task; 10] = [
    Task {
        title: "Add an account, an operator and a route, and see a message through",
        scene: new_customer::nothing_yet,
        by_command: new_customer::add_and_send,
        step: "add_and_send",
        is_done: new_customer::is_through,
        most_commands: 2,
        most_clicks: 5,
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
    count("ten_tasks", &TASKS, || {
        Desk::open(empty().file("new.password", "new\n"), "console_tasks.js")
    });
}
