//! `pointsman serve`

use std::collections::BTreeSet;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pointsman_core::{Config, Duty, Loaded, NotBuilt, Server, Store, TlsFiles};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use super::{failed, listed, runtime, say};
use crate::builtin;
use crate::cli::{LogFormat, ServeArgs};
use crate::count;
use crate::document::{Source, in_store};
use crate::gateway::Gateway;
use crate::journal::{self, Keeper};
use crate::listen::listen;
use crate::live::{Live, Means};
use crate::reload::Origin;
use crate::server::{self, Door};
use crate::stop::Phase;
use crate::store_keeper::StoreKeeper;
use crate::{chores, clock, rfc3339, store, watch};

/// How long calls that were cut may take to end.
const CUTTING: Duration = Duration::from_secs(2);
/// How long a collector or a webhook may take over what is left at the end.
const TELLING: Duration = Duration::from_secs(5);

/// Serves until told to stop.
pub(crate) fn run(args: &ServeArgs) -> ExitCode {
    start_log(args.log);
    let served = runtime().and_then(|runtime| {
        runtime.block_on(async {
            // First of all: a signal while the store is opened must not kill.
            let signals = Signals::install()?;
            serve(plan(args)?, signals).await
        })
    });
    served.map_or_else(failed, |()| ExitCode::SUCCESS)
}

/// What is to be served.
struct Plan {
    loaded: Loaded,
    server: Server,
    source: Source,
    path: Option<PathBuf>,
    /// What stood in the files before they were read.
    files: watch::Contents,
    store: Option<Arc<store::Store>>,
}

fn plan(args: &ServeArgs) -> Result<Plan, String> {
    let files = args.config.as_deref().map(watch::contents).unwrap_or_default();
    let source = Source::read(args.config.as_deref())?;
    let mut loaded = source.load().map_err(|faults| listed(&source.name, &faults))?;
    admissible(&loaded, &source.name)?;
    let store = match &loaded.config.state.store {
        Store::Embedded(path) => Some(Arc::new(store::Store::open(path)?)),
        Store::Memory | Store::Redis { .. } => None,
    };
    let keys = store.as_ref().map(|store| store.keys()).transpose()?.flatten();
    if let Some(keys) = keys {
        loaded = source
            .load_with(Some(&keys))
            .map_err(|faults| listed(&source.name, &in_store(faults, &keys)))?;
        admissible(&loaded, &source.name)?;
    }
    let mut server = loaded.config.server.clone();
    server.listen = args.listen.unwrap_or(server.listen);
    server.admin = args.admin.unwrap_or(server.admin);
    if !server.admin.ip().is_loopback() && server.admin_token.is_none() {
        return Err(format!(
            "the admin listener at `{}` is not on loopback, so `server.admin_token` must be set",
            server.admin
        ));
    }
    if !server.admin.ip().is_loopback() && server.admin_tls.is_none() {
        tracing::warn!(
            "the admin token crosses the network in the clear: set `server.admin_tls`, or keep \
             `server.admin` where nobody listens in"
        );
    }
    warn(&loaded);
    Ok(Plan { loaded, server, source, path: args.config.clone(), files, store })
}

/// Whether a configuration may be served; what it relies on has to be there.
///
/// # Errors
/// Says what is not.
pub(crate) fn admissible(loaded: &Loaded, name: &str) -> Result<(), String> {
    refuse_budgets_without_a_store(&loaded.config, name)?;
    refuse_what_is_not_built(loaded, name)
}

fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        tracing::warn!(path = warning.path, "{}", warning.message);
    }
    for note in not_built(loaded) {
        tracing::warn!(path = note.path, "not built: {}", note.instead);
    }
    for (_, path) in unfulfilled(&loaded.config) {
        tracing::warn!(path, "not built: this host does not act on it");
    }
}

/// Whoever relies on a restriction or a record must not be served without it.
fn refuse_what_is_not_built(loaded: &Loaded, name: &str) -> Result<(), String> {
    let restricting = not_built(loaded).filter(|note| note.restricts);
    let undone = unfulfilled(&loaded.config).filter(|(duty, _)| duty.restricts());
    let paths: BTreeSet<String> =
        restricting.map(|note| note.path.clone()).chain(undone.map(|(_, path)| path)).collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{name} asks for restrictions or records that this version does not build, so it is not \
         served; remove these keys:\n{}",
        paths.iter().map(|path| format!("  {path}")).collect::<Vec<_>>().join("\n")
    ))
}

/// What this host does for a configuration.
const FULFILLED: &[Duty] = &[
    Duty::Journal,
    Duty::Callers,
    Duty::RouteFacts,
    Duty::UsageLog,
    Duty::Commit,
    Duty::Idempotency,
    Duty::Probes,
    Duty::Prefixes,
    Duty::Counts,
    Duty::Egress,
    Duty::Telemetry,
    Duty::Alerts,
];
/// What it does if there is an embedded store.
const WITH_STORE: [Duty; 2] = [Duty::Store, Duty::Budgets];

fn fulfils(config: &Config, duty: Duty) -> bool {
    let stored = matches!(config.state.store, Store::Embedded(_));
    FULFILLED.contains(&duty) || (stored && WITH_STORE.contains(&duty))
}

/// What the configuration asks of a host and this one does not do.
fn unfulfilled(config: &Config) -> impl Iterator<Item = (Duty, String)> {
    config.duties().into_iter().filter(|(duty, _)| !fulfils(config, *duty))
}

/// The keys whose effect is not built: neither in the core nor here.
pub(crate) fn not_built(loaded: &Loaded) -> impl Iterator<Item = &NotBuilt> {
    let duties = loaded.config.duties();
    let here = move |path: &str| {
        duties.iter().any(|(duty, own)| own == path && fulfils(&loaded.config, *duty))
    };
    loaded.not_built.iter().filter(move |note| !here(&note.path))
}

/// A budget that a restart makes whole again is none.
fn refuse_budgets_without_a_store(config: &Config, name: &str) -> Result<(), String> {
    let mut duties = config.duties().into_iter();
    match (&config.state.store, duties.find(|(duty, _)| *duty == Duty::Budgets)) {
        (Store::Memory, Some((_, path))) => Err(format!(
            "{name}: {path}: a budget needs a store, or a restart would make it whole again: set \
             `state: {{ store: {{ embedded: PATH }} }}`"
        )),
        _ => Ok(()),
    }
}

fn listener(address: SocketAddr) -> Result<TcpListener, String> {
    listen(address).map_err(|error| format!("cannot listen on `{address}`: {error}"))
}

async fn serve(plan: Plan, mut signals: Signals) -> Result<(), String> {
    let api = listener(plan.server.listen)?;
    let admin = listener(plan.server.admin)?;
    let address = |one: &TcpListener| one.local_addr().map_err(|error| error.to_string());
    let (api_address, admin_address) = (address(&api)?, address(&admin)?);
    announce(&plan, api_address, admin_address);
    let (drain, every, watched) = (plan.server.drain, plan.server.watch, plan.path.is_some());
    let store = plan.store.clone();
    let (gateway, file) = prepare(plan)?;
    let keeper = file.map(|file| Keeper::start(Arc::clone(&gateway), file));
    let store = store.map(|store| StoreKeeper::start(Arc::clone(&gateway), store));
    tokio::spawn(chores::run(Arc::clone(&gateway)));
    if watched && !every.is_zero() {
        tokio::spawn(watch::run(Arc::clone(&gateway), every));
    }
    tokio::spawn(reload_on_hangup(Arc::clone(&gateway), signals.hangup));
    tokio::spawn(server::run(admin, Door::Admin, Arc::clone(&gateway)));
    let api = tokio::spawn(server::run(api, Door::Api, Arc::clone(&gateway)));
    tokio::select! {
        () = signals.end.next() => {}
        // An operator's command.
        () = gateway.stop.reached(Phase::Draining) => {}
    }
    stop(&gateway, api, signals.end, drain).await;
    if let Some(log) = &gateway.usage_log {
        log.finish();
    }
    finish_telling(&gateway).await;
    if let Some(store) = store {
        store.finish();
    }
    if let Some(keeper) = keeper {
        keeper.finish();
    }
    Ok(())
}

/// Tells others what there is left to tell. Whoever hangs does not hold the end up for longer than a
/// bound.
async fn finish_telling(gateway: &Gateway) {
    chores::tell_of_budgets(gateway);
    let telemetry = async {
        if let Some(telemetry) = &gateway.telemetry {
            telemetry.finish(TELLING).await;
        }
    };
    let webhook = async {
        if let Some(webhook) = &gateway.webhook {
            webhook.finish(TELLING).await;
        }
    };
    tokio::join!(telemetry, webhook);
}

/// The gateway, with what an earlier run left in the store; and the journal's file.
fn prepare(plan: Plan) -> Result<(Arc<Gateway>, Option<File>), String> {
    let Plan { loaded, server, source, path, files, store } = plan;
    let means = Means::of(&loaded.config, None);
    let means = means.map_err(|faults| listed(&source.name, &faults))?;
    let state = store.as_ref().map(|store| store.snapshot()).transpose()?.flatten();
    let file = loaded.config.state.journal.as_deref().map(journal::create).transpose()?;
    let room = file.as_ref().map(|_| journal::ROOM);
    let usage_log = loaded.config.metering.usage_log.clone();
    count::load(&loaded.catalog);
    let live = Live::new(loaded.config, Arc::new(loaded.catalog), means, None);
    let mut gateway = Gateway::new(live, &server, room, state.as_ref())?;
    let taken_at = state.map(|state| state.taken_at());
    if let Some(at) = taken_at.filter(|at| at.since(gateway.clock.now()) >= chores::APART) {
        let at = rfc3339::text(at);
        tracing::warn!(at, "the store is of a time that has not come yet: it counts as of now");
    }
    if let Some(usage_log) = usage_log {
        gateway.meter(&usage_log)?;
    }
    gateway.observe()?;
    gateway.comes_from(Origin::new(path, source, files, store));
    Ok((Arc::new(gateway), file))
}

/// Loads the config again at every SIGHUP.
async fn reload_on_hangup(gateway: Arc<Gateway>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        let gateway = Arc::clone(&gateway);
        // What came of it is in the log.
        let _ = tokio::task::spawn_blocking(move || gateway.reload(false)).await;
    }
}

/// Drains, then cuts: when the time is over, or at the second signal. A call may outlive its
/// client's connection, and is waited for too.
async fn stop(gateway: &Gateway, api: JoinHandle<()>, mut signals: EndSignals, drain: Duration) {
    let (in_flight, _) = gateway.open();
    tracing::info!(in_flight, drain_s = drain.as_secs(), "draining; once more cuts at once");
    gateway.stop.advance(Phase::Draining);
    let mut ended = std::pin::pin!(async {
        let _ = api.await;
        gateway.at_rest().await;
    });
    tokio::select! {
        () = &mut ended => {
            tracing::info!("stopped");
            return;
        }
        () = tokio::time::sleep(drain) => {}
        () = signals.next() => {}
    }
    let (in_flight, _) = gateway.open();
    tracing::warn!(in_flight, "cutting what is still in flight");
    gateway.stop.advance(Phase::Cutting);
    // What does not end by then ends with the process.
    let _ = tokio::time::timeout(CUTTING, ended).await;
    tracing::info!("stopped");
}

/// What the process is told from outside.
struct Signals {
    end: EndSignals,
    hangup: Signal,
}

/// SIGTERM and SIGINT: both ask for the same.
struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn install() -> Result<Self, String> {
        let install =
            |kind| signal(kind).map_err(|error| format!("cannot listen for signals: {error}"));
        let terminate = install(SignalKind::terminate())?;
        let interrupt = install(SignalKind::interrupt())?;
        let hangup = install(SignalKind::hangup())?;
        Ok(Self { end: EndSignals { terminate, interrupt }, hangup })
    }
}

impl EndSignals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn announce(plan: &Plan, api: SocketAddr, admin: SocketAddr) {
    let scheme = |tls: &Option<TlsFiles>| if tls.is_some() { "https" } else { "http" };
    let clients = format!("{}://{api}", scheme(&plan.server.tls));
    let admins = scheme(&plan.server.admin_tls);
    let mut text = format!("listening on {clients}\nadmin on {admins}://{admin}: {ADMIN_PATHS}\n");
    text += &format!("serving {}:\n", plan.source.name);
    let catalog = &plan.loaded.catalog;
    for (_, group) in catalog.groups() {
        let members = group.members.iter();
        let members: Vec<&str> =
            members.map(|member| catalog.deployment(member.deployment).name.as_str()).collect();
        text += &format!("  {} -> {}\n", group.name, members.join(", "));
    }
    if plan.path.is_none() {
        let variables = builtin::variables();
        text += &format!("a provider's models are served if its key is set: {variables}\n");
    }
    let name = catalog.groups().map(|(_, group)| group.name.as_str()).find(|n| !n.contains('*'));
    if let Some(name) = name {
        text += &format!(
            "try: curl -i {clients}/v1/chat/completions -d \
             '{{\"model\":\"{name}\",\"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}]}}'\n"
        );
    }
    say(&text);
}

const ADMIN_PATHS: &str = "/healthz /readyz /metrics /openapi.json";

fn start_log(format: LogFormat) {
    // What cannot be written, as on a full disk, is lost: to complain of it where it cannot be written
    // either would be a panic.
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false);
    let builder = builder.log_internal_errors(false).with_timer(WallClock);
    // Only a second call fails, and then a log is there already.
    let _ = match format {
        LogFormat::Text => builder.compact().with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// The machine's time, in the log: not ours, so that it can be laid beside other programs'.
struct WallClock;

impl FormatTime for WallClock {
    fn format_time(&self, to: &mut Writer<'_>) -> std::fmt::Result {
        to.write_str(&rfc3339::micros(clock::wall()))
    }
}
