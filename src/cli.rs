//! The command line: one file per subcommand; without one, `serve`.
//!
//! A line is `smsc NOUN VERB NAME`; forms of earlier releases are rewritten first (`cli/grammar.rs`).

pub mod account;
pub mod apply;
pub mod archive;
pub mod ask;
pub mod audit;
pub mod backup;
pub mod balance;
pub mod bench;
pub mod binds;
pub mod bulk;
mod callback;
pub mod check_config;
pub mod client;
pub mod completions;
pub mod context;
pub mod convert;
pub mod damaged;
pub mod dead_letters;
pub mod decode;
pub mod diff;
pub mod drain;
pub mod erase;
pub mod events;
mod examples;
pub mod exit;
pub mod export;
pub mod failures;
pub mod firewall;
pub mod fsck;
mod grammar;
mod groups;
pub mod health;
pub mod held;
pub mod history;
pub mod incidents;
pub mod key;
pub mod load;
pub mod lookups;
pub mod man;
pub mod message;
pub mod migrate;
pub mod migrate_store;
mod names;
pub mod nodes;
pub mod openapi;
pub mod operator;
pub mod opt_out;
pub mod queues;
pub mod receipts;
pub mod repair_ids;
pub mod replay;
pub mod resource;
pub mod route;
pub mod salvage;
pub mod send;
pub mod serve;
pub mod simulate;
pub mod sink;
pub mod sources;
pub mod times;
pub mod token;
pub mod top;
mod trace;
pub mod usage;
pub mod versions;
pub mod why;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::files;

/// The release and the commit of the program, as its `main` names them: here they would have everything
/// compiled again after a commit.
static VERSION: OnceLock<&'static str> = OnceLock::new();

/// A store-and-forward Short Message Service Centre.
#[derive(Debug, Parser)]
#[command(name = "smsc", about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

/// All commands: what each is for, what it reads from the line, and what runs it.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident($line:ident: $room:ident::$kind:ident) => $run:expr,)+) => {
        #[derive(Debug, Subcommand)]
        enum CliCommand {
            $($(#[$about])* $name($room::$kind),)+
        }

        impl CliCommand {
            fn run(self) -> anyhow::Result<()> {
                match self {
                    $(Self::$name($line) => $run,)+
                }
            }
        }
    };
}

commands! {
    /// Run the SMSC (the default).
    Serve(args: serve::ServeArgs) => serve::run(args).map(|_| ()),
    /// Send one message and wait for its receipt.
    Send(args: send::SendArgs) => send::run(args),
    /// Check a configuration file, or print all defaults.
    CheckConfig(args: check_config::CheckConfigArgs) => check_config::run(args),
    /// Apply the resources of a file to a running SMSC.
    Apply(args: apply::ApplyArgs) => apply::run(args),
    /// Show the history of the configuration, compare it with the file, or roll back.
    #[command(subcommand)]
    Config(order: versions::ConfigCommand) => versions::run(order),
    /// Show, add, edit or remove accounts, or write the sheet for a customer.
    #[command(subcommand)]
    Account(order: account::AccountCommand) => account::run(order),
    /// Show, add, edit, remove, suspend, resume, rebind or test operators.
    #[command(subcommand)]
    Operator(order: operator::OperatorCommand) => operator::run(order),
    /// Show, add, edit or remove routes, or explain where a message would go.
    #[command(subcommand)]
    Route(order: route::RouteCommand) => route::run(order),
    /// Simulate an operator.
    Simulate(args: simulate::SimulateArgs) => simulate::run(args),
    /// Simulate ESMEs and measure.
    Load(args: load::LoadArgs) => load::run(args),
    /// Measure, and compare with another SMSC or an earlier measurement.
    Bench(args: bench::BenchArgs) => bench::run(args),
    /// Show queues, or suspend, resume, purge or move one.
    #[command(subcommand)]
    Queue(order: queues::QueueSubcommand) => queues::run(order),
    /// Show binds and operators, or end one bind.
    #[command(subcommand)]
    Bind(order: binds::BindSubcommand) => binds::run(order),
    /// Show the nodes that share the store.
    #[command(subcommand)]
    Node(order: nodes::NodeCommand) => nodes::run(&order),
    /// Watch throughput, queues, binds, operators and nodes.
    Top(args: top::TopArgs) => top::run(args),
    /// Show what changes, as it changes.
    Events(args: events::EventsArgs) => events::run(&args),
    /// Say why a message, a number or an account is as it is, and what to do.
    Why(args: why::WhyArgs) => why::run(&args),
    /// Find messages, show one, cancel, retry, move or replay them.
    #[command(subcommand)]
    Message(order: message::MessageCommand) => message::run(order),
    /// Follow what happens to the messages of a number, an account or an operator.
    Trace(args: trace::TraceArgs) => trace::run(&args),
    /// Show failed messages, with their attempts.
    #[command(subcommand)]
    DeadLetter(order: dead_letters::DeadLetterCommand) => dead_letters::run(&order),
    /// Count failures by error, operator, account, country or hour.
    Failures(args: failures::FailuresArgs) => failures::run(&args),
    /// Show traffic over time, or by operator, account or error.
    History(args: history::HistoryArgs) => history::run(&args),
    /// Show operators' receipts that match no message, match or drop one.
    #[command(subcommand)]
    Receipt(order: receipts::ReceiptsCommand) => receipts::run(&order),
    /// Show or acknowledge operators and accounts that are not well.
    #[command(subcommand)]
    Incident(order: incidents::IncidentCommand) => incidents::run(&order),
    /// Show rows of the store that are not as they were written, or forget them.
    Damaged(args: damaged::DamagedArgs) => damaged::run(&args),
    /// Show, release or cancel messages that are held since the database went back in time.
    Held(args: held::HeldArgs) => held::run(&args),
    /// Take a node out of service without stopping it, or back into service.
    Drain(args: drain::DrainArgs) => drain::run(&args),
    /// Show the balance and quota of an account, or add to its balance.
    #[command(subcommand)]
    Balance(order: balance::BalanceCommand) => balance::run(order),
    /// Show how many messages ended, by day, account, operator, country and state.
    Usage(args: usage::UsageArgs) => usage::run(args),
    /// Show what was commanded and changed, by whom.
    Audit(args: audit::AuditArgs) => audit::run(&args),
    /// Send a test callback to the URL of an account.
    #[command(subcommand)]
    Callback(order: callback::CallbackCommand) => callback::run(order),
    /// Show, create and remove tokens of the admin API.
    #[command(subcommand)]
    Token(order: token::TokenCommand) => token::run(order),
    /// Show, create and revoke API keys of accounts, for the HTTP API.
    #[command(subcommand)]
    Key(order: key::ApiKeyCommand) => key::run(order),
    /// Show opt-outs, add or remove numbers.
    #[command(subcommand)]
    OptOut(order: opt_out::OptOutCommand) => opt_out::run(order),
    /// Show the look-ups of networks and IMSIs, or forget answers.
    #[command(subcommand)]
    Lookup(order: lookups::LookupsCommand) => lookups::run(&order),
    /// Show what the firewalls in front of networks over MAP have found.
    #[command(subcommand)]
    Firewall(order: firewall::FirewallCommand) => firewall::run(&order),
    /// What waits for event sinks, and what has become of publishing.
    #[command(subcommand)]
    Sink(order: sink::SinkCommand) => sink::run(&order),
    /// Show how the sources of commands on NATS stand.
    #[command(subcommand)]
    Source(order: sources::SourceCommand) => sources::run(&order),
    /// Save SMSCs under names, and choose which one commands ask.
    #[command(subcommand)]
    Context(order: context::ContextCommand) => context::run(order),
    /// Print the OpenAPI description of the admin API.
    Openapi(args: openapi::OpenapiArgs) => openapi::run(&args),
    /// Copy the store of a running SMSC into one file.
    Backup(args: backup::BackupArgs) => backup::run(&args),
    /// Show how far finished messages have been copied elsewhere.
    #[command(subcommand)]
    Archive(order: archive::ArchiveCommand) => archive::run(&order),
    /// Write finished messages into a file or another database.
    Export(args: export::ExportArgs) => export::run(&args),
    /// Erase a subscriber's number and texts from finished messages.
    Erase(args: erase::EraseArgs) => erase::run(&args),
    /// Check a store against its invariants.
    Fsck(args: fsck::FsckArgs) => fsck::run(&args),
    /// Read what can be read of a store that cannot be opened into a new one.
    Salvage(args: salvage::SalvageArgs) => salvage::run(&args),
    /// Set aside ids that a wrong clock has left in the future.
    RepairIds(args: repair_ids::RepairIdsArgs) => repair_ids::run(&args),
    /// Ask a running SMSC whether it is ready.
    Health(args: health::HealthArgs) => health::run(&args),
    /// Upgrade the schema of the PostgreSQL database to this release.
    Migrate(args: migrate::MigrateArgs) => migrate::run(&args),
    /// Move everything from the embedded store into the PostgreSQL database.
    MigrateStore(args: migrate_store::MigrateStoreArgs) => migrate_store::run(&args),
    /// Convert the configuration of Kannel or Jasmin.
    Convert(args: convert::ConvertArgs) => convert::run(&args),
    /// Explain octets: PDUs of SMPP, CMPP, SGIP and SMGP, user data, TPDUs, GSUP, MAP over M3UA.
    Decode(args: decode::DecodeArgs) => decode::run(&args),
    /// Print a shell completion script.
    Completions(args: completions::CompletionsArgs) => completions::run(&args),
    /// Write the manual pages.
    Man(args: man::ManPageArgs) => man::run(&args),
}

/// The whole command line.
fn command() -> clap::Command {
    let version = VERSION.get_or_init(|| env!("CARGO_PKG_VERSION"));
    groups::add_to(examples::add_to(Cli::command().version(*version)))
}

/// The words of this process as clap reads them; says on standard error how an old form is written now.
fn line(command: &clap::Command) -> Vec<OsString> {
    let mut all = std::env::args_os();
    let program = all.next().unwrap_or_else(|| "smsc".into());
    let given: Vec<OsString> = all.collect();
    let words: Option<Vec<String>> = given
        .iter()
        .map(|word| word.to_str().map(str::to_owned))
        .collect();
    let words = match words {
        // No command and no option is anything but UTF-8.
        None => given,
        Some(words) => {
            let line = grammar::rewritten(command, words);
            if let Some(hint) = line.hint {
                tell(&hint);
            }
            line.words.into_iter().map(OsString::from).collect()
        }
    };
    [vec![program], words].concat()
}

/// Runs the command line and gives the exit code (`cli/exit.rs`).
pub fn main(version: &'static str) -> ExitCode {
    // There is one program.
    let _ = VERSION.set(version);
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == names::COMMAND) {
        names::print(words);
        return ExitCode::SUCCESS;
    }
    let mut command = command();
    let line = line(&command);
    let matches = command.try_get_matches_from_mut(line);
    let matches = matches.unwrap_or_else(|error| error.exit());
    if let Err(said) = times::check_ranges(&matches) {
        command.error(ErrorKind::ValueValidation, said).exit();
    }
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // What it writes holds numbers, texts or secrets, except for what is made to be handed on.
    if !matches!(cli.command, Some(CliCommand::Man(_))) {
        files::keep_private();
    }
    let result = match cli.command {
        None => serve::run(cli.serve),
        Some(CliCommand::Serve(args)) => serve::run(args),
        Some(command) => command.run().map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            // The reader of our output, such as `head`, needs no more.
            return ExitCode::SUCCESS;
        }
        tell(&format!("error: {}", said(&error)));
        ExitCode::from(exit::code_of(&error))
    })
}

/// Says something on standard error; it may be closed, as by `2>&1 | head`, which is no reason to panic.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// An error with its causes; without those that the text before names already.
fn said(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Of what the system says, some quote the words without the number: "(os error 111)".
        let words = cause.split(" (os error").next().unwrap_or_default();
        if text.is_empty() {
            text = cause;
        } else if !text.contains(words) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Whether our output was closed by who reads it.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(closed)
}

/// What a command with commands below it reads from these words, the first of which is its name.
#[cfg(test)]
fn parsed_command<C: Subcommand>(words: &[&str]) -> Result<C, clap::Error> {
    let command = C::augment_subcommands(clap::Command::new("smsc"));
    C::from_arg_matches_mut(&mut command.try_get_matches_from(words)?)
}

/// What a subcommand reads from these words, the first of which is its name.
#[cfg(test)]
fn parsed<A: clap::Args>(words: &[&str]) -> Result<A, clap::Error> {
    let mut matches = A::augment_args(clap::Command::new("smsc")).try_get_matches_from(words)?;
    A::from_arg_matches_mut(&mut matches)
}
