//! Ten more things that an administrator does, by the command line and in the console: what is looked for when messages fail,
//! what a customer asks for, and what is done to many at once.

mod scenes;

use crate::tasks::{Task, count, new_customer};

const TASKS: [Task; 10] = [
    Task {
        title: "Set up an empty SMSC until a message is DELIVERED",
        scene: new_customer::nothing_yet,
        by_command: new_customer::add_and_send,
        step: "set_up",
        is_done: new_customer::is_through,
        most_commands: 2,
        most_clicks: 6,
    },
    Task {
        title: "Find the network that fails since ten minutes ago, and why",
        scene: scenes::a_failing_network,
        by_command: scenes::find_network,
        step: "find_network",
        is_done: scenes::is_that_network,
        most_commands: 2,
        most_clicks: 3,
    },
    Task {
        title: "Find the cause of one message, and what helps",
        scene: scenes::one_of_the_failed,
        by_command: scenes::find_cause,
        step: "find_cause",
        is_done: scenes::is_that_cause,
        most_commands: 1,
        most_clicks: 2,
    },
    Task {
        title: "Replay what failed with one error, two messages a second",
        scene: scenes::failures_of_one_error,
        by_command: scenes::replay_slowly,
        step: "replay_slowly",
        is_done: scenes::are_replayed_slowly,
        most_commands: 2,
        most_clicks: 5,
    },
    Task {
        title: "Find the operator that answers slowly",
        scene: scenes::a_slow_operator,
        by_command: scenes::find_slow,
        step: "find_slow",
        is_done: scenes::is_the_slow_one,
        most_commands: 1,
        most_clicks: 1,
    },
    Task {
        title: "Pause three operators",
        scene: scenes::three_operators,
        by_command: scenes::pause,
        step: "pause",
        is_done: scenes::are_paused,
        most_commands: 1,
        most_clicks: 6,
    },
    Task {
        title: "Count one customer's messages of this month",
        scene: scenes::a_month_of_two_customers,
        by_command: scenes::count_month,
        step: "count_month",
        is_done: scenes::are_counted,
        most_commands: 1,
        most_clicks: 2,
    },
    Task {
        title: "Get the sheet that says how a customer connects",
        scene: scenes::a_customer,
        by_command: scenes::get_sheet,
        step: "get_sheet",
        is_done: scenes::leads_to_a_bind,
        most_commands: 1,
        most_clicks: 3,
    },
    Task {
        title: "Compare today with the same time a week ago",
        scene: scenes::today_and_a_week_ago,
        by_command: scenes::compare,
        step: "compare",
        is_done: scenes::has_both,
        most_commands: 2,
        most_clicks: 1,
    },
    Task {
        title: "Find the change that broke a route, and who made it",
        scene: scenes::a_change_that_broke_a_route,
        by_command: scenes::find_change,
        step: "find_change",
        is_done: scenes::is_that_change,
        most_commands: 2,
        most_clicks: 2,
    },
];

#[test]
fn ten_more_tasks_take_few_commands_and_few_clicks() {
    count("ten_more_tasks", &TASKS, scenes::open);
}
