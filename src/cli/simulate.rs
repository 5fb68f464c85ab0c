//! `smsc simulate`: simulates an operator, a gateway of a carrier, or the core of a GSM network, on a port, until it is
//! stopped.
//!
//! Turns flags into [`SimulatorOptions`], [`GatewayOptions`], [`GsmCoreOptions`] or [`MapCoreOptions`]; a profile first, single flags
//! refine it. Prints a summary of its counters when it ends, and a line a second with `--verbose`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::{MissedTickBehavior, interval};

use crate::cli::client::print_line;
use crate::cli::exit::WrongCommandLine;
use crate::gateway::{GatewayOptions, GatewayProtocol, SimulatedGateway};
use crate::gsm_core::{GsmCore, GsmCoreOptions};
use crate::map_core::{MapCore, MapCoreOptions, MapStp, MapTransport};
use crate::sigtran::PointCode;
use crate::simulator::message_id::MessageIdNotations;
use crate::simulator::{
    CounterSnapshot, Delay, MoOptions, Profile, ReceiptBehaviour, Simulator, SimulatorOptions,
};
use crate::smpp::CommandStatus;

/// Play an operator: accept binds and messages, answer, send receipts. Or play the core of a GSM network, with its phones.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// What to play: an operator (smpp), a gateway of China Mobile (cmpp), China Telecom (smgp) or China Unicom (sgip), or
    /// a GSM network by GSUP (gsup) or MAP over M3UA (map). Options of other kinds have no effect.
    #[arg(long, value_enum, default_value = "smpp")]
    protocol: SimulatedProtocol,
    /// Address and port to listen on.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:2776")]
    listen: String,
    /// Refuse binds with any other system_id (ESME_RINVSYSID).
    #[arg(long, value_name = "NAME")]
    system_id: Option<String>,
    /// Refuse binds with any other password (ESME_RINVPASWD).
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "SMSC_SIMULATE_PASSWORD",
        hide_env_values = true
    )]
    password: Option<String>,
    /// A named set of the flags below; single flags override it.
    #[arg(long, value_enum, default_value = "healthy")]
    profile: Profile,
    /// Answer after this time: 250ms, or a range 10ms..2s.
    #[arg(long, value_name = "TIME")]
    latency: Option<Delay>,
    /// Share of messages answered with ESME_RTHROTTLED.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    throttle_percent: Option<f64>,
    /// Answer messages above this rate with ESME_RTHROTTLED.
    #[arg(long, value_name = "PER_SECOND", value_parser = positive)]
    rate: Option<f64>,
    /// Share of messages answered with --reject-status.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    reject_percent: Option<f64>,
    /// Name or number of the answer to rejected messages.
    #[arg(long, value_name = "STATUS", default_value = "ESME_RSUBMITFAIL", value_parser = status)]
    reject_status: CommandStatus,
    /// RP-cause of phones for --reject-percent; 22: memory capacity exceeded.
    #[arg(long, value_name = "CAUSE", default_value = "22", value_parser = clap::value_parser!(u8).range(1..=127))]
    reject_cause: u8,
    /// Share of messages that get no answer.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    silent_percent: Option<f64>,
    /// Which receipts to send for messages that ask for one.
    #[arg(long, value_enum, default_value = "delivered")]
    receipts: ReceiptBehaviour,
    /// Share of messages that fail with --receipts mixed.
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    fail_percent: f64,
    /// Send receipts this long after the answer: 5s, or a range 1s..60s.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    receipt_delay: Delay,
    /// Send every receipt twice.
    #[arg(long)]
    duplicate_receipts: bool,
    /// Send each receipt 50 ms (or --latency) before its submit_sm_resp.
    #[arg(long, conflicts_with = "receipt_delay")]
    early_receipts: bool,
    /// Form of ids: decimal, hex, hex-upper, each also with -zeros; hex-in-receipt-decimal: decimal in receipts.
    #[arg(long, value_name = "FORM", default_value = "decimal")]
    message_id_form: MessageIdNotations,
    /// Receipts without receipted_message_id and message_state.
    #[arg(long)]
    receipt_text_only: bool,
    /// Close each connection after so many messages, without the last answers.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    cut_after: Option<u64>,
    /// Send MO messages at this rate to bound receivers.
    #[arg(long, value_name = "PER_SECOND", value_parser = positive, requires = "mo_to")]
    mo: Option<f64>,
    /// Destination of MO messages.
    #[arg(long, value_name = "NUMBER")]
    mo_to: Option<String>,
    /// Source of MO messages.
    #[arg(long, value_name = "NUMBER", default_value = "447700900999")]
    mo_from: String,
    /// Unanswered deliver_sm on one bind before it waits.
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = window)]
    window: usize,
    /// Refuse bind_transceiver with ESME_RINVCMDID.
    #[arg(long)]
    no_transceiver: bool,
    /// The SMSC's sgip.listen, for reports and MO messages.
    #[arg(long, value_name = "HOST:PORT")]
    bring_to: Option<String>,
    /// map: what carries M3UA, TCP (as of osmo-stp) or SCTP of the kernel.
    #[arg(long, value_enum, default_value = "tcp")]
    transport: MapTransport,
    /// map: connect to this STP instead of listening; with SCTP, all its addresses with commas between.
    #[arg(
        long,
        value_name = "HOST:PORT",
        value_delimiter = ',',
        requires = "smsc_point_code"
    )]
    stp: Vec<String>,
    /// SCTP: own addresses for --stp.
    #[arg(long, value_name = "IP", value_delimiter = ',', requires = "stp")]
    local: Vec<IpAddr>,
    /// map: own point code, as 0.2.1 or a number, until something comes for another one.
    #[arg(long, value_name = "POINT", default_value = "0.2.1")]
    point_code: PointCode,
    /// map: point code of the SMSC; without it, that of its first message.
    #[arg(long, value_name = "POINT")]
    smsc_point_code: Option<PointCode>,
    /// map: global title of the SMSC for --mo; without it, that of its last question to the HLR.
    #[arg(long, value_name = "NUMBER")]
    service_centre: Option<String>,
    /// map: the latest version of MAP that the network knows.
    #[arg(long, value_name = "VERSION", default_value = "3", value_parser = clap::value_parser!(u8).range(1..=3))]
    map_version: u8,
    /// Write a line per accepted message.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Print a line of counters every second.
    #[arg(short, long)]
    verbose: bool,
}

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// When the port is taken, the journal cannot be written, or flags contradict each other.
pub fn run(args: SimulateArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(play(args))
}

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SimulatedProtocol {
    Smpp,
    Cmpp,
    Smgp,
    Sgip,
    Gsup,
    Map,
}

/// Starts what is to be played, and lets it run.
async fn play(args: SimulateArgs) -> anyhow::Result<()> {
    let (protocol, verbose, reject_cause) = (args.protocol, args.verbose, args.reject_cause);
    let bring_to = args.bring_to.clone();
    let signalling = signalling(&args);
    let like = options(args)?;
    let place = match &like.journal {
        Some(journal) => format!("{} with journal {}", like.listen, journal.display()),
        None => like.listen.clone(),
    };
    let taken =
        || format!("cannot start on {place}; is the port in use? choose another with --listen");
    let core_of = |like| GsmCoreOptions {
        like,
        reject_cause,
        keep: false,
    };
    let gateway = match protocol {
        SimulatedProtocol::Smpp => {
            let simulator = Simulator::bind(like).await.with_context(taken)?;
            eprintln!("simulated operator listens on {}", simulator.local_addr());
            let counters = simulator.counters();
            let mut before = counters.snapshot();
            let line = || {
                let now = counters.snapshot();
                let line = rates(&before, &now);
                before = now;
                line
            };
            until_stopped(simulator.run(), line, verbose).await?;
            return print_line(counters.snapshot().to_string().trim_end());
        }
        SimulatedProtocol::Gsup => {
            let core = GsmCore::bind(core_of(like)).await.with_context(taken)?;
            eprintln!("simulated GSM core listens on {}", core.local_addr());
            let phones = core.phones();
            let counts = || {
                let (taken, refused) = phones.counts();
                let busy = phones.overlaps();
                format!("delivered {taken}, not delivered {refused}, while busy {busy}")
            };
            until_stopped(core.run(), counts, verbose).await?;
            return print_line(&counts());
        }
        SimulatedProtocol::Map => {
            let core = core_of(like);
            let core = MapCore::bind(MapCoreOptions { core, ..signalling }).await;
            return play_map(core.with_context(taken)?, verbose).await;
        }
        SimulatedProtocol::Cmpp => GatewayProtocol::Cmpp,
        SimulatedProtocol::Smgp => GatewayProtocol::Smgp,
        SimulatedProtocol::Sgip => GatewayProtocol::Sgip,
    };
    let options = GatewayOptions {
        protocol: gateway,
        like,
        bring_to,
    };
    let gateway = SimulatedGateway::bind(options).await.with_context(taken)?;
    eprintln!("simulated gateway listens on {}", gateway.local_addr());
    let counts = gateway.counts();
    until_stopped(gateway.run(), &counts, verbose).await?;
    print_line(&counts())
}

/// Plays a network that speaks MAP.
async fn play_map(core: MapCore, verbose: bool) -> anyhow::Result<()> {
    match core.local_addr() {
        Some(address) => eprintln!("simulated MAP network listens on {address}"),
        None => eprintln!("simulated MAP network connects to its STP"),
    }
    let phones = core.phones();
    let counts = || {
        let (taken, refused) = phones.counts();
        let (busy, asked) = (phones.overlaps(), phones.routing_asked());
        let (active, _) = phones.connections();
        format!(
            "delivered {taken}, not delivered {refused}, while busy {busy}, questions to the HLR {asked}, links {active}"
        )
    };
    until_stopped(core.run(), counts, verbose).await?;
    print_line(&counts())
}

/// Runs until it is stopped, and prints a line every second if that is wished.
async fn until_stopped(
    running: impl Future<Output = ()>,
    line: impl FnMut() -> String,
    verbose: bool,
) -> anyhow::Result<()> {
    tokio::select! {
        () = running => {}
        printed = print_lines(line), if verbose => printed?,
        stopped = stop_signal() => stopped?,
    }
    Ok(())
}

/// Until their reader is gone.
async fn print_lines(mut line: impl FnMut() -> String) -> anyhow::Result<()> {
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    second.tick().await;
    loop {
        second.tick().await;
        print_line(&line())?;
    }
}

/// What happened between two looks at the counters, a second apart.
fn rates(before: &CounterSnapshot, now: &CounterSnapshot) -> String {
    format!(
        "accepted {}/s, throttled {}/s, rejected {}/s, receipts {}/s, parked {}",
        now.accepted - before.accepted,
        now.throttled - before.throttled,
        now.rejected - before.rejected,
        now.receipts_acknowledged - before.receipts_acknowledged,
        now.receipts_parked,
    )
}

/// The mobile-originated messages that are asked for.
fn mo(args: &SimulateArgs) -> Option<MoOptions> {
    let (per_second, to) = args.mo.zip(args.mo_to.clone())?;
    Some(MoOptions {
        per_second,
        from: args.mo_from.clone(),
        to,
    })
}

/// What is only said of a network that speaks MAP.
fn signalling(args: &SimulateArgs) -> MapCoreOptions {
    let local = args.local.iter();
    let stp = MapStp {
        addresses: args.stp.clone(),
        local: local.map(|ip| SocketAddr::new(*ip, 0)).collect(),
    };
    MapCoreOptions {
        stp: (!args.stp.is_empty()).then_some(stp),
        transport: args.transport,
        point_code: args.point_code,
        smsc_point_code: args.smsc_point_code,
        smsc: args.service_centre.clone(),
        hlr_version: args.map_version,
        msc_version: args.map_version,
        ..MapCoreOptions::default()
    }
}

fn options(args: SimulateArgs) -> anyhow::Result<SimulatorOptions> {
    // What SMPP and GSM carry.
    if args.mo_to.as_ref().is_some_and(|number| number.len() > 20) {
        bail!(WrongCommandLine(
            "--mo-to has more than 20 digits; SMPP carries 20 at most".to_owned()
        ));
    }
    // Only an operator has all moods.
    let (profile, throttle_percent) = match args.protocol {
        SimulatedProtocol::Smpp => (args.profile, args.throttle_percent),
        SimulatedProtocol::Gsup | SimulatedProtocol::Map => (Profile::Healthy, None),
        _ => (Profile::Healthy, args.throttle_percent),
    };
    let preset = SimulatorOptions {
        rate: args.rate,
        ..SimulatorOptions::default()
    }
    .profile(profile);
    let mo = mo(&args);
    Ok(SimulatorOptions {
        listen: args.listen,
        system_id: args.system_id,
        password: args.password,
        latency: args.latency.unwrap_or(preset.latency),
        throttle_percent: throttle_percent.unwrap_or(preset.throttle_percent),
        reject_percent: args.reject_percent.unwrap_or(preset.reject_percent),
        reject_status: args.reject_status,
        silent_percent: args.silent_percent.unwrap_or(preset.silent_percent),
        receipts: args.receipts,
        fail_percent: args.fail_percent,
        receipt_delay: args.receipt_delay,
        duplicate_receipts: args.duplicate_receipts,
        early_receipts: args.early_receipts,
        message_id_form: args.message_id_form,
        receipt_tlvs: !args.receipt_text_only,
        cut_after: args.cut_after,
        mo,
        window: args.window,
        transceiver: !args.no_transceiver,
        journal: args.journal,
        ..preset
    })
}

/// Returns on Ctrl-C or SIGTERM.
async fn stop_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminate.recv() => Ok(()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("give a number from 0 to 100".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err("give a number above 0".to_owned()),
    }
}

fn window(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(value) if (1..=crate::simulator::in_flight::MAX_WINDOW).contains(&value) => Ok(value),
        _ => Err("give a number from 1 to 1048576".to_owned()),
    }
}

fn status(text: &str) -> Result<CommandStatus, String> {
    match CommandStatus::from_name(text) {
        Some(status) if !status.is_ok() => Ok(status),
        _ => Err(
            "give the name of an error like ESME_RINVDSTADR, or its number like 0x0B".to_owned(),
        ),
    }
}
