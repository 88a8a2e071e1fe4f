//! Another configuration while calls run: from the file, or by a key that is made or revoked.
//!
//! Either all of it comes into force or nothing: while the new one has a fault the last good one
//! stays. What is unchanged keeps its state and its connections. What only a start can change is named
//! and stays as it was.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pointsman_core::{Config, Loaded, Server, Timestamp};
use serde::Serialize;

use crate::commands::listed;
use crate::commands::serve::admissible;
use crate::count;
use crate::document::{Source, in_store};
use crate::gateway::Gateway;
use crate::live::{Live, Means};
use crate::rfc3339;
use crate::store::{Store, StoredKeys};
use crate::watch::{self, Contents};

/// Where configurations come from.
#[derive(Debug)]
pub(crate) struct Origin {
    path: Option<PathBuf>,
    name: String,
    store: Option<Arc<Store>>,
    /// The document in force. One change at a time.
    source: Mutex<Source>,
    /// What stood in the files when they were last read, well or not.
    read: Mutex<Contents>,
}

/// What became of configurations since the start.
#[derive(Debug, Default)]
pub(crate) struct Reloads {
    /// How many have come into force after the first.
    changes: AtomicU64,
    last: Mutex<Option<LastReload>>,
}

/// The last time that a file was read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LastReload {
    at: String,
    ok: bool,
    /// Every fault, if it was not put in force.
    problem: Option<String>,
}

impl Reloads {
    /// Another configuration is in force.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of the configuration in force: 1 is the first.
    pub(crate) fn revision(&self) -> u64 {
        1 + self.changes.load(Ordering::Relaxed)
    }

    /// A file has been read again.
    pub(crate) fn tried(&self, now: Timestamp, result: &Result<Changes, String>) {
        let problem = result.as_ref().err().cloned();
        let last = LastReload { at: rfc3339::text(now), ok: problem.is_none(), problem };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    /// What came of that.
    pub(crate) fn last(&self) -> Option<LastReload> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What another configuration changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Changes {
    /// Names with the section before them, such as `deployments.east`.
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    /// Also whole sections, such as `policy`.
    pub(crate) changed: Vec<String>,
    /// Changed, and in force only after a restart.
    pub(crate) needs_restart: Vec<String>,
}

impl Origin {
    /// `source` is in force; `read` is what stood in the files before it was read.
    pub(crate) fn new(
        path: Option<PathBuf>,
        source: Source,
        read: Contents,
        store: Option<Arc<Store>>,
    ) -> Self {
        let name = source.name.clone();
        Self { path, name, store, source: Mutex::new(source), read: Mutex::new(read) }
    }

    /// The name of the configuration, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What stands in the files now.
    pub(crate) fn contents(&self) -> Contents {
        self.path.as_deref().map(watch::contents).unwrap_or_default()
    }

    /// Whether that is what was last read.
    pub(crate) fn is_loaded(&self, contents: &Contents) -> bool {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) == *contents
    }

    /// The store, if there is one: where keys are made.
    pub(crate) fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    /// Reads the file again and puts what it says in force; `dry_run` only says what would change.
    ///
    /// # Errors
    /// Every fault of it; then nothing has changed.
    pub(crate) fn reload(&self, gateway: &Gateway, dry_run: bool) -> Result<Changes, String> {
        let mut source = self.source();
        if !dry_run {
            *self.read.lock().unwrap_or_else(PoisonError::into_inner) = self.contents();
        }
        let new = Source::read_again(self.path.as_deref())?;
        let keys = self.store.as_ref().map(|store| store.keys()).transpose()?.flatten();
        let loaded = load(&new, keys.as_ref(), &keys.clone().unwrap_or_default())?;
        let before = gateway.live();
        let means = Means::of(&loaded.config, Some(&before));
        let means = means.map_err(|faults| listed(&new.name, &faults))?;
        let changes = changes(&before, &loaded, &means);
        if !dry_run {
            count::load(&loaded.catalog);
            gateway.replace(loaded, means);
            *source = new;
        }
        Ok(changes)
    }

    /// Changes the keys of the store by `edit`, and puts them in force: beside the document that is in
    /// force, whatever its files say by now. A key can be revoked while one of them is missing.
    ///
    /// # Errors
    /// There is no store, or a fault of the keys or of writing them; then nothing has changed.
    pub(crate) fn change_keys(
        &self,
        gateway: &Gateway,
        edit: impl FnOnce(&mut StoredKeys) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(store) = &self.store else {
            return Err("keys can be made only with `state.store: { embedded: PATH }`".into());
        };
        let source = self.source();
        let before = store.keys()?;
        let mut keys = before.clone().unwrap_or_default();
        edit(&mut keys)?;
        // A fault of a key that is made only now is not one of the store's.
        let loaded = load(&source, Some(&keys), &before.unwrap_or_default())?;
        // Nobody gets a key that a restart would not know.
        store.keep_keys(&keys)?;
        gateway.replace(loaded, gateway.live().means());
        Ok(())
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A document that may come into force, with these keys, of which those in `kept` lie in the store.
fn load(source: &Source, keys: Option<&StoredKeys>, kept: &StoredKeys) -> Result<Loaded, String> {
    let loaded = source.load_with(keys);
    let loaded = loaded.map_err(|faults| listed(&source.name, &in_store(faults, kept)))?;
    admissible(&loaded, &source.name)?;
    Ok(loaded)
}

fn changes(before: &Live, after: &Loaded, means: &Means) -> Changes {
    let (old, new): (&Config, &Config) = (&before.config, &after.config);
    let mut changes = Changes::default();
    changes.entries("providers", &old.providers, &new.providers, |one| &one.name);
    changes.entries("deployments", &old.deployments, &new.deployments, |one| &one.name);
    changes.entries("groups", &old.groups, &new.groups, |one| &one.name);
    changes.entries("aliases", &old.aliases, &new.aliases, |one| &one.name);
    changes.entries("routes", &old.routes, &new.routes, |one| &one.name);
    let (own, others) = (&old.callers, &new.callers);
    changes.entries("callers.organisations", &own.organisations, &others.organisations, |o| &o.0);
    changes.entries("callers.teams", &own.teams, &others.teams, |one| &one.0);
    changes.entries("callers.keys", &own.keys, &others.keys, |one| &one.0);
    let anonymous =
        (own.anonymous.as_ref(), own.closed) != (others.anonymous.as_ref(), others.closed);
    for (differs, name) in [
        (anonymous, "callers.anonymous"),
        (old.default_fallbacks != new.default_fallbacks, "default_fallbacks"),
        (old.egress != new.egress, "egress"),
        (old.unmatched != new.unmatched, "unmatched"),
        (old.policy != new.policy, "policy"),
        (old.limits != new.limits, "limits"),
        (old.metering.labels != new.metering.labels, "metering.labels"),
    ] {
        if differs {
            changes.changed.push(name.to_owned());
        }
    }
    changes.changed.extend(means.new_certificates(before).map(str::to_owned));
    for (differs, name) in [
        (needs_restart(&old.server) != needs_restart(&new.server), "server"),
        (old.state != new.state, "state"),
        (old.telemetry != new.telemetry, "telemetry"),
        (old.metering.alerts != new.metering.alerts, "metering.alerts"),
        (old.metering.usage_log != new.metering.usage_log, "metering.usage_log"),
    ] {
        if differs {
            changes.needs_restart.push(name.to_owned());
        }
    }
    changes
}

/// What of the listeners only a start can change: all but their certificates.
fn needs_restart(server: &Server) -> Server {
    Server { tls: None, admin_tls: None, ..server.clone() }
}

impl Changes {
    fn entries<T: PartialEq>(
        &mut self,
        section: &str,
        old: &[T],
        new: &[T],
        name: impl Fn(&T) -> &String,
    ) {
        let find = |all: &[T], wanted: &String| all.iter().position(|one| name(one) == wanted);
        let path = |one: &T| format!("{section}.{}", name(one));
        for one in new {
            match find(old, name(one)) {
                None => self.added.push(path(one)),
                Some(at) if old[at] != *one => self.changed.push(path(one)),
                Some(_) => {}
            }
        }
        let gone = old.iter().filter(|one| find(new, name(one)).is_none());
        self.removed.extend(gone.map(path));
    }
}
