//! `smsc top`: the live events of a running SMSC in a terminal, with the commands of queues and
//! operators on keys.
//!
//! One thread reads the stream (`feed`), this one reads keys and draws; what is shown is `model`,
//! how it is shown is `draw`. `--once` draws one frame as text, for scripts.

mod draw;
mod feed;
mod lists;
mod model;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use serde_json::json;

use super::client::{self, AdminClient, AdminConnection};
use feed::News;
use model::{Act, Model};

/// How long to wait for a key before the screen is redrawn.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// News that wait to be drawn; a second brings at most six.
const NEWS: usize = 64;
/// `--once` gives up when the first events have not come by then.
const ONCE_WITHIN: Duration = Duration::from_secs(20);

/// Arguments of `smsc top`.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Print one frame as text and exit; with --json, its events as JSON.
    #[arg(long)]
    once: bool,
    /// Columns of that frame.
    #[arg(long, value_name = "COLUMNS", default_value_t = 100, requires = "once",
          value_parser = clap::value_parser!(u16).range(40..=500))]
    width: u16,
    /// Lines of that frame.
    #[arg(long, value_name = "LINES", default_value_t = 40, requires = "once",
          value_parser = clap::value_parser!(u16).range(16..=500))]
    height: u16,
    /// With --once: print its events instead.
    #[arg(long, requires = "once")]
    json: bool,
    #[command(flatten)]
    connection: AdminConnection,
}

/// Runs the command.
///
/// # Errors
/// There is no token or no terminal; with `--once`, also an SMSC that cannot be reached. Without it
/// an SMSC that is away is shown as such and tried again.
pub fn run(args: TopArgs) -> anyhow::Result<()> {
    let client = Arc::new(args.connection.open()?);
    let (sender, news) = mpsc::sync_channel(NEWS);
    let (_stop, stopped) = mpsc::sync_channel(0);
    feed::start(Arc::clone(&client), sender.clone(), stopped)?;
    if args.once {
        return once(&args, &news);
    }
    let mut terminal =
        ratatui::try_init().context("no terminal; with --once a frame is printed as text")?;
    let result = watch(&mut terminal, &client, &sender, &news);
    ratatui::restore();
    result
}

/// Draws and reads keys until `q`.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    client: &Arc<AdminClient>,
    sender: &SyncSender<News>,
    news: &Receiver<News>,
) -> anyhow::Result<()> {
    let mut model = Model::default();
    loop {
        while let Ok(one) = news.try_recv() {
            model.take(one, Instant::now());
        }
        terminal.draw(|frame| draw::screen(frame, &model, Instant::now()))?;
        if !event::poll(LOOK_EVERY)? {
            continue;
        }
        // A resize is drawn like everything else: the next frame has the new size.
        let Event::Key(key) = event::read()? else {
            continue;
        };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        match model.key(key) {
            Act::Nothing => {}
            Act::Quit => return Ok(()),
            Act::Order(order) => feed::command(client, sender, order)?,
        }
    }
}

/// One frame, when the first events are there.
fn once(args: &TopArgs, news: &Receiver<News>) -> anyhow::Result<()> {
    let mut model = Model::default();
    let started = Instant::now();
    while !model.is_complete() {
        let left = ONCE_WITHIN.saturating_sub(started.elapsed());
        match news.recv_timeout(left) {
            Ok(News::Away(error)) => return Err(error),
            Ok(one) => model.take(one, Instant::now()),
            Err(_) => bail!("no live events within {} s", ONCE_WITHIN.as_secs()),
        }
    }
    if args.json {
        return client::print_json(&json!({
            "overview": model.overview,
            "queues": model.queues.queues,
            "binds": model.binds.binds,
            "operators": model.operators.operators,
            "nodes": model.nodes.nodes,
        }));
    }
    client::print_line(&frame(&model, args.width, args.height)?)
}

/// The screen as lines of text, without blanks at their ends.
fn frame(model: &Model, width: u16, height: u16) -> anyhow::Result<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height))?;
    terminal.draw(|frame| draw::everything(frame, model, Instant::now()))?;
    let buffer = terminal.backend().buffer();
    let lines: Vec<String> = (0..height)
        .map(|y| {
            let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
            line.trim_end().to_owned()
        })
        .collect();
    Ok(lines.join("\n").trim_end().to_owned())
}

#[cfg(test)]
mod tests;
