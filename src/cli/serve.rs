//! `smsc serve`: runs the SMSC; without a configuration file with a demo account and a simulated
//! operator, so that a message can be sent at once.

use std::fs;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use rand::distr::{Alphanumeric, SampleString as _};
use secrecy::{ExposeSecret as _, SecretString};

use crate::app::{self, HangUp, Orders, bootstrap};
use crate::cli::client::print_line;
use crate::config::{
    Account, Config, HttpConfig, OperatorConfig, RouteConfig, SMPP_CONNECTOR,
    stand_in_for_smpp_connector,
};
use crate::domain::route::RoutingStep;
use crate::files;
use crate::simulator::{Simulator, SimulatorOptions};
use crate::store::postgres;
use crate::telemetry::logs;

/// SMPP passwords have at most 8 octets (SMPP 3.4 §5.2.2).
const PASSWORD: usize = 8;
const TOKEN: usize = 32;
pub(super) const DEMO_ACCOUNT: &str = "demo";
/// Where the demo serves the HTTP API for accounts, beside the admin API at its usual address.
const DEMO_API: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);
const DEMO_OPERATOR: &str = "simulated";

#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Configuration file (TOML); without it, a demo account and a simulated operator.
    #[arg(long, short, env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// Replace smpp-connector: read its variables, serve its paths at this address.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = SMPP_CONNECTOR)]
    smpp_connector: Option<SocketAddr>,
    /// Start with every queue suspended, such as after a restored backup. A start without this resumes them.
    #[arg(long)]
    suspended: bool,
    /// Start although the log of the embedded store is damaged. A copy of the log is kept.
    #[arg(long)]
    accept_loss: bool,
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// The configuration, a folder, a port or the store cannot be used.
pub fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    if let Some(listen) = args.smpp_connector {
        stand_in_for_smpp_connector(listen);
    }
    let mut config = Config::load(args.config.as_deref())?;
    logs::install(&config.log);
    for warning in config.validate()? {
        tracing::warn!("{warning}");
    }
    files::own_folder(&config.data_dir, &["admin-token", "demo-password"])
        .with_context(|| format!("data_dir: {} cannot be used", config.data_dir.display()))?;
    let token = match config.http.admin_token.clone() {
        Some(token) => token,
        None => kept_secret(&config.data_dir.join("admin-token"), TOKEN)?.into(),
    };
    // Whoever replaces that service replaces its container, and runs no other command before.
    if args.smpp_connector.is_some()
        && let Some(options) = bootstrap::pg_options(&config)?
    {
        for migration in postgres::migrate(&options)? {
            tracing::info!(%migration, "applied");
        }
    }
    let orders = Orders {
        accept_loss: args.accept_loss,
        suspended: args.suspended,
    };
    let system = actix::System::new();
    system.block_on(async move {
        // A file without accounts and operators leaves them to the store and the API.
        let demo =
            args.config.is_none() && args.smpp_connector.is_none() && config.has_no_resources();
        if demo {
            add_demo(&mut config).await?;
        }
        let served = DemoAddresses {
            smpp: config.smpp.listen.clone(),
            http: config.http.listen,
            api: config.api.listen,
        };
        let data_dir = config.data_dir.clone();
        let app = app::start(config, args.config, token.clone(), orders).await?;
        if demo && app.node.plan().account(DEMO_ACCOUNT).is_some() {
            greet(&data_dir, &served, &token)?;
        }
        // A demo ends with its terminal, unless it was started with nohup.
        let hang_up = if demo && !ignores_hang_up() {
            HangUp::Stop
        } else {
            HangUp::Reload
        };
        app.run(hang_up).await.map(ExitCode::from)
    })
}

/// Whether SIGHUP was ignored when the process started. False if unknown.
fn ignores_hang_up() -> bool {
    /// The bit of SIGHUP, number 1.
    const HUP: u64 = 1;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & HUP != 0)
}

/// An account whose password is generated once, and an operator inside this process.
async fn add_demo(config: &mut Config) -> anyhow::Result<()> {
    let password = kept_secret(&config.data_dir.join("demo-password"), PASSWORD)?;
    let simulator = Simulator::bind(SimulatorOptions {
        listen: "127.0.0.1:0".to_owned(),
        ..SimulatorOptions::default()
    })
    .await
    .context("the simulated operator cannot listen")?;
    let address = simulator.local_addr();
    actix::spawn(simulator.run());
    if config.http.listen == HttpConfig::default().listen {
        config.api.listen.get_or_insert(DEMO_API);
    }
    config.account.push(Account {
        system_id: DEMO_ACCOUNT.to_owned(),
        password: password.clone().into(),
        window: 1000,
        ..Account::default()
    });
    config.operator.push(OperatorConfig {
        id: DEMO_OPERATOR.to_owned(),
        address: address.to_string(),
        system_id: "smsc".to_owned(),
        window: 500,
        ..OperatorConfig::default()
    });
    config.route.push(RouteConfig {
        to: vec![RoutingStep::single(DEMO_OPERATOR.to_owned())],
        ..RouteConfig::default()
    });
    Ok(())
}

/// Where the demo is reached.
struct DemoAddresses {
    smpp: Vec<SocketAddr>,
    http: SocketAddr,
    api: Option<SocketAddr>,
}

fn greet(data_dir: &Path, served: &DemoAddresses, token: &SecretString) -> anyhow::Result<()> {
    let password = fs::read_to_string(data_dir.join("demo-password"))?;
    let smpp: Vec<String> = served.smpp.iter().map(ToString::to_string).collect();
    let api = served.api.map_or_else(String::new, |api| {
        format!("API    http://{api}/v1/messages   a key: smsc key add {DEMO_ACCOUNT}\n")
    });
    print_line(&format!(
        "smsc is running without a configuration file, with a simulated operator.\n\
         \n\
         SMPP   {}   system_id {DEMO_ACCOUNT}, password {}\n\
         HTTP   http://{}/   admin token {}\n\
         {api}\
         data   {}\n\
         \n\
         Try it:   smsc send --to 447700900123 \"hello\"",
        smpp.join(", "),
        password.trim(),
        served.http,
        token.expose_secret(),
        data_dir.display(),
    ))
}

/// Reads a secret from its file, or generates it there, readable only by its owner.
fn kept_secret(path: &Path, length: usize) -> anyhow::Result<String> {
    if let Ok(kept) = fs::read_to_string(path) {
        let kept = kept.trim();
        if !kept.is_empty() {
            return Ok(kept.to_owned());
        }
    }
    let secret = Alphanumeric.sample_string(&mut rand::rng(), length);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    writeln!(file, "{secret}")?;
    Ok(secret)
}
