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

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run the SMSC (the default).
    Serve(serve::ServeArgs),
    /// Send one message and wait for its receipt.
    Send(send::SendArgs),
    /// Check a configuration file, or print all defaults.
    CheckConfig(check_config::CheckConfigArgs),
    /// Apply the resources of a file to a running SMSC.
    Apply(apply::ApplyArgs),
    /// Show the history of the configuration, compare it with the file, or roll back.
    Config(versions::ConfigArgs),
    /// Show, add, edit or remove accounts, or write the sheet for a customer.
    #[command(subcommand)]
    Account(account::AccountCommand),
    /// Show, add, edit, remove, suspend, resume, rebind or test operators.
    #[command(subcommand)]
    Operator(operator::OperatorCommand),
    /// Show, add, edit or remove routes, or explain where a message would go.
    Route(route::RouteArgs),
    /// Simulate an operator.
    Simulate(simulate::SimulateArgs),
    /// Simulate ESMEs and measure.
    Load(load::LoadArgs),
    /// Measure, and compare with another SMSC or an earlier measurement.
    Bench(bench::BenchArgs),
    /// Show queues, or suspend, resume, purge or move one.
    #[command(subcommand)]
    Queue(queues::QueueSubcommand),
    /// Show binds and operators, or end one bind.
    #[command(subcommand)]
    Bind(binds::BindSubcommand),
    /// Show the nodes that share the store.
    #[command(subcommand)]
    Node(nodes::NodeCommand),
    /// Watch throughput, queues, binds, operators and nodes.
    Top(top::TopArgs),
    /// Show what changes, as it changes.
    Events(events::EventsArgs),
    /// Say why a message, a number or an account is as it is, and what to do.
    Why(why::WhyArgs),
    /// Find messages, show one, cancel, retry, move or replay them.
    #[command(subcommand)]
    Message(message::MessageCommand),
    /// Follow what happens to the messages of a number, an account or an operator.
    Trace(trace::TraceArgs),
    /// Show failed messages, with their attempts.
    #[command(subcommand)]
    DeadLetter(dead_letters::DeadLetterCommand),
    /// Count failures by error, operator, account, country or hour.
    Failures(failures::FailuresArgs),
    /// Show traffic over time, or by operator, account or error.
    History(history::HistoryArgs),
    /// Show operators' receipts that match no message, match or drop one.
    Receipt(receipts::ReceiptsArgs),
    /// Show or acknowledge operators and accounts that are not well.
    #[command(subcommand)]
    Incident(incidents::IncidentCommand),
    /// Show rows of the store that are not as they were written, or forget them.
    Damaged(damaged::DamagedArgs),
    /// Show, release or cancel messages that are held since the database went back in time.
    Held(held::HeldArgs),
    /// Take a node out of service without stopping it, or back into service.
    Drain(drain::DrainArgs),
    /// Show the balance and quota of an account, or add to its balance.
    Balance(balance::BalanceArgs),
    /// Show how many messages ended, by day, account, operator, country and state.
    Usage(usage::UsageArgs),
    /// Show what was commanded and changed, by whom.
    Audit(audit::AuditArgs),
    /// Send a test callback to the URL of an account.
    Callback(callback::CallbackArgs),
    /// Show, create and remove tokens of the admin API.
    Token(token::TokenArgs),
    /// Show, create and revoke API keys of accounts, for the HTTP API.
    Key(key::ApiKeyArgs),
    /// Show opt-outs, add or remove numbers.
    OptOut(opt_out::OptOutArgs),
    /// Show the look-ups of networks and IMSIs, or forget answers.
    Lookup(lookups::LookupsArgs),
    /// Show what the firewalls in front of networks over MAP have found.
    #[command(subcommand)]
    Firewall(firewall::FirewallCommand),
    /// What waits for event sinks, and what has become of publishing.
    Sink(sink::SinkArgs),
    /// Show how the sources of commands on NATS stand.
    #[command(subcommand)]
    Source(sources::SourceCommand),
    /// Save SMSCs under names, and choose which one commands ask.
    Context(context::ContextArgs),
    /// Print the OpenAPI description of the admin API.
    Openapi(openapi::OpenapiArgs),
    /// Copy the store of a running SMSC into one file.
    Backup(backup::BackupArgs),
    /// Show how far finished messages have been copied elsewhere.
    Archive(archive::ArchiveArgs),
    /// Write finished messages into a file or another database.
    Export(export::ExportArgs),
    /// Erase a subscriber's number and texts from finished messages.
    Erase(erase::EraseArgs),
    /// Check a store against its invariants.
    Fsck(fsck::FsckArgs),
    /// Read what can be read of a store that cannot be opened into a new one.
    Salvage(salvage::SalvageArgs),
    /// Set aside ids that a wrong clock has left in the future.
    RepairIds(repair_ids::RepairIdsArgs),
    /// Ask a running SMSC whether it is ready.
    Health(health::HealthArgs),
    /// Upgrade the schema of the PostgreSQL database to this release.
    Migrate(migrate::MigrateArgs),
    /// Move everything from the embedded store into the PostgreSQL database.
    MigrateStore(migrate_store::MigrateStoreArgs),
    /// Convert the configuration of Kannel or Jasmin.
    Convert(convert::ConvertArgs),
    /// Explain octets: PDUs of SMPP, CMPP, SGIP and SMGP, user data, TPDUs, GSUP, MAP over M3UA.
    Decode(decode::DecodeArgs),
    /// Print a shell completion script.
    Completions(completions::CompletionsArgs),
    /// Write the manual pages.
    Man(man::ManPageArgs),
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

impl CliCommand {
    fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Serve(args) => serve::run(args).map(|_| ()),
            Self::Send(args) => send::run(args),
            Self::CheckConfig(args) => check_config::run(args),
            Self::Apply(args) => apply::run(args),
            Self::Config(args) => versions::run(args),
            Self::Account(order) => account::run(order),
            Self::Operator(order) => operator::run(order),
            Self::Route(args) => route::run(args),
            Self::Simulate(args) => simulate::run(args),
            Self::Load(args) => load::run(args),
            Self::Bench(args) => bench::run(args),
            Self::Queue(order) => queues::run(order),
            Self::Bind(order) => binds::run(order),
            Self::Node(order) => nodes::run(&order),
            Self::Top(args) => top::run(args),
            Self::Events(args) => events::run(&args),
            Self::Why(args) => why::run(&args),
            Self::Message(order) => message::run(order),
            Self::Trace(args) => trace::run(&args),
            Self::DeadLetter(order) => dead_letters::run(&order),
            Self::Failures(args) => failures::run(&args),
            Self::History(args) => history::run(&args),
            Self::Receipt(args) => receipts::run(&args),
            Self::Incident(order) => incidents::run(&order),
            Self::Damaged(args) => damaged::run(&args),
            Self::Held(args) => held::run(&args),
            Self::Drain(args) => drain::run(&args),
            Self::Balance(args) => balance::run(args),
            Self::Usage(args) => usage::run(args),
            Self::Audit(args) => audit::run(&args),
            Self::Callback(args) => callback::run(args),
            Self::Token(args) => token::run(args),
            Self::Key(args) => key::run(args),
            Self::OptOut(args) => opt_out::run(args),
            Self::Lookup(args) => lookups::run(&args),
            Self::Firewall(order) => firewall::run(&order),
            Self::Sink(args) => sink::run(&args),
            Self::Source(order) => sources::run(&order),
            Self::Context(args) => context::run(args),
            Self::Openapi(args) => openapi::run(&args),
            Self::Backup(args) => backup::run(&args),
            Self::Archive(args) => archive::run(&args),
            Self::Export(args) => export::run(&args),
            Self::Erase(args) => erase::run(&args),
            Self::Fsck(args) => fsck::run(&args),
            Self::Salvage(args) => salvage::run(&args),
            Self::RepairIds(args) => repair_ids::run(&args),
            Self::Health(args) => health::run(&args),
            Self::Migrate(args) => migrate::run(&args),
            Self::MigrateStore(args) => migrate_store::run(&args),
            Self::Convert(args) => convert::run(&args),
            Self::Decode(args) => decode::run(&args),
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args),
        }
    }
}

/// What a subcommand reads from these words, the first of which is its name.
#[cfg(test)]
fn parsed<A: clap::Args>(words: &[&str]) -> Result<A, clap::Error> {
    let mut matches = A::augment_args(clap::Command::new("smsc")).try_get_matches_from(words)?;
    A::from_arg_matches_mut(&mut matches)
}
