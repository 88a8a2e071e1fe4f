//! The embedded store: one file with what must survive a restart.
//!
//! The router's state is kept as rows: each section of a [`Snapshot`] by name, so that what has not
//! changed is not written again. What the rows hold is the core's affair. A file that cannot be used
//! as it is, is never changed or replaced: whoever relies on what it holds is told.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pointsman_core::Snapshot;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::{Map, Value};

/// A section of the state and a name in it; the name is empty for the section itself.
pub(crate) type Row = (String, String);
/// Rows, and their JSON.
pub(crate) type Rows = BTreeMap<Row, Vec<u8>>;

/// Keys by name, and what the config would say of each, as JSON.
pub(crate) type StoredKeys = BTreeMap<String, Vec<u8>>;

const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
const STATE: TableDefinition<(&str, &str), &[u8]> = TableDefinition::new("state");
/// Keys that were made at run time: what the config would say of each, as JSON.
const KEYS: TableDefinition<&str, &[u8]> = TableDefinition::new("keys");
const SCHEMA: &str = "schema";
/// Set when the first key is made.
const KEYS_MADE: &str = "keys_made";
/// Of the file's pages, in bytes.
const CACHE: usize = 16 << 20;

/// What leads from each version of the schema to the next. Only ever added to.
const MIGRATIONS: [Migration; 2] = [first_schema, with_keys];

type Migration = fn(&redb::WriteTransaction) -> Result<(), redb::Error>;

fn first_schema(transaction: &redb::WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(STATE)?;
    Ok(())
}

fn with_keys(transaction: &redb::WriteTransaction) -> Result<(), redb::Error> {
    transaction.open_table(KEYS)?;
    Ok(())
}

/// The open file.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    /// Which file was opened: its device and its number there.
    file: (u64, u64),
    /// `None` after a failed write, until it has been opened again.
    database: Mutex<Option<Database>>,
    /// Why the last write failed, if it did.
    problem: Mutex<Option<String>>,
}

impl Store {
    /// Opens the store at this path, or begins one there if there is no file.
    ///
    /// # Errors
    /// It cannot be used: the text names the file, says why, and what to do.
    pub(crate) fn open(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let fault = |error: String| format!("the store `{}` {error}", path.display());
        if !path.try_exists().map_err(|error| fault(format!("cannot be looked at: {error}")))? {
            begin(&path).map_err(fault)?;
            tracing::info!(path = %path.display(), "a new store: nothing is spent yet");
        }
        let database = open(&path).map_err(fault)?;
        migrate(&database).map_err(fault)?;
        let file = identity(&path).map_err(fault)?;
        Ok(Self { database: Mutex::new(Some(database)), path, file, problem: Mutex::default() })
    }

    /// That the file which was opened is still in its place: what is written to one that was deleted
    /// or moved away is not there after a restart, and one that came instead is somebody else's.
    fn is_in_place(&self) -> Result<(), String> {
        match identity(&self.path) {
            Ok(file) if file == self.file => Ok(()),
            Ok(_) => Err("is no longer the file that was opened: put that one back".into()),
            Err(error) => Err(format!("was moved away or deleted: put it back ({error})")),
        }
    }

    /// The state that is kept, if there is any.
    ///
    /// # Errors
    /// It cannot be read, or is not what this version writes: in words.
    pub(crate) fn snapshot(&self) -> Result<Option<Snapshot>, String> {
        let fault = |error: String| format!("the store `{}` {error}", self.path.display());
        let sections = self.read().map_err(|error| fault(damaged(error)))?;
        if sections.is_empty() {
            return Ok(None);
        }
        let snapshot = serde_json::from_value(Value::Object(sections));
        snapshot.map(Some).map_err(|error| fault(damaged(error)))
    }

    fn read(&self) -> Result<Map<String, Value>, String> {
        let mut sections = Map::new();
        let database = self.database();
        let Some(database) = database.as_ref() else { return Err("it is closed".into()) };
        let rows = caught(|| {
            let table = database.begin_read()?.open_table(STATE)?;
            let rows = table.iter()?.map(|row| {
                let (key, value) = row?;
                let (section, name) = key.value();
                Ok((section.to_owned(), name.to_owned(), value.value().to_vec()))
            });
            rows.collect::<Result<Vec<_>, redb::Error>>()
        })?;
        // A section's own row comes first: its name is the empty one.
        for (section, name, bytes) in rows {
            let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
            if name.is_empty() {
                sections.insert(section, value);
            } else if let Some(Value::Object(named)) = sections.get_mut(&section) {
                named.insert(name, value);
            }
        }
        Ok(sections)
    }

    /// Writes rows over those that are there, all or none, and has the disk keep them. After a
    /// failure the file is opened again at the next try.
    ///
    /// # Errors
    /// The rows are not kept: in words.
    pub(crate) fn write(&self, rows: &Rows) -> Result<(), String> {
        let written = self.try_to_write(rows);
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = written.clone().err();
        written
    }

    /// Why the last write failed; `None` if it did not.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn try_to_write(&self, rows: &Rows) -> Result<(), String> {
        let mut place = self.database();
        self.is_in_place()?;
        let database = match place.take() {
            Some(database) => database,
            None => open(&self.path)?,
        };
        caught(|| {
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(STATE)?;
                for ((section, name), bytes) in rows {
                    table.insert((section.as_str(), name.as_str()), bytes.as_slice())?;
                }
            }
            Ok(transaction.commit()?)
        })?;
        *place = Some(database);
        Ok(())
    }

    /// The keys that were made at run time; `None` if none ever was.
    ///
    /// # Errors
    /// They cannot be read: in words.
    pub(crate) fn keys(&self) -> Result<Option<StoredKeys>, String> {
        let fault = |error: String| format!("the store `{}` {error}", self.path.display());
        let database = self.database();
        let Some(database) = database.as_ref() else { return Err(fault("is closed".into())) };
        let found = caught(|| {
            let transaction = database.begin_read()?;
            let made = transaction.open_table(META)?.get(KEYS_MADE)?.is_some();
            let table = transaction.open_table(KEYS)?;
            let rows = table.iter()?.map(|row| {
                let (name, entry) = row?;
                Ok((name.value().to_owned(), entry.value().to_vec()))
            });
            let rows = rows.collect::<Result<StoredKeys, redb::Error>>()?;
            Ok(made.then_some(rows))
        });
        found.map_err(|error| fault(damaged(error)))
    }

    /// Keeps these keys, and no others.
    ///
    /// # Errors
    /// The keys are as they were before: in words.
    pub(crate) fn keep_keys(&self, keys: &StoredKeys) -> Result<(), String> {
        let database = self.database();
        let Some(database) = database.as_ref() else {
            return Err("the store cannot be written at the moment".into());
        };
        self.is_in_place().map_err(|error| format!("the store {error}"))?;
        caught(|| {
            let transaction = database.begin_write()?;
            {
                transaction.open_table(META)?.insert(KEYS_MADE, 1)?;
                let mut table = transaction.open_table(KEYS)?;
                table.retain(|name, _| keys.contains_key(name))?;
                for (name, entry) in keys {
                    table.insert(name.as_str(), entry.as_slice())?;
                }
            }
            Ok(transaction.commit()?)
        })
    }

    fn database(&self) -> MutexGuard<'_, Option<Database>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A snapshot as rows.
///
/// # Errors
/// It is no JSON, which would be our fault.
pub(crate) fn rows(snapshot: &Snapshot) -> Result<Rows, serde_json::Error> {
    let mut rows = Rows::new();
    let Value::Object(sections) = serde_json::to_value(snapshot)? else { return Ok(rows) };
    for (section, value) in sections {
        let own = match value {
            Value::Object(named) => {
                for (name, value) in named {
                    rows.insert((section.clone(), name), serde_json::to_vec(&value)?);
                }
                Value::Object(Map::new())
            }
            single => single,
        };
        rows.insert((section, String::new()), serde_json::to_vec(&own)?);
    }
    Ok(rows)
}

/// Begins a store beside its place and moves it there whole, for its owner alone: a crash leaves no
/// half of one.
fn begin(path: &Path) -> Result<(), String> {
    let cannot = |error: &dyn Display| format!("cannot be begun: {error}");
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(&error)),
        _ => {}
    }
    let database = Database::create(&new).map_err(|error| cannot(&error))?;
    migrate(&database)?;
    drop(database);
    let owner = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&new, owner).map_err(|error| cannot(&error))?;
    std::fs::rename(&new, path).map_err(|error| cannot(&error))
}

fn identity(path: &Path) -> Result<(u64, u64), String> {
    let found = std::fs::metadata(path).map_err(|error| format!("cannot be looked at: {error}"))?;
    Ok((found.dev(), found.ino()))
}

fn open(path: &Path) -> Result<Database, String> {
    let length =
        std::fs::metadata(path).map_err(|error| format!("cannot be opened: {error}"))?.len();
    if length == 0 {
        // It would be taken for a new one, and every budget be whole again.
        return Err(damaged("it is empty"));
    }
    // Every page is looked at: one that was altered is an error, not somebody's budget.
    let mut builder = Database::builder();
    builder.set_check_integrity_on_open(true).set_cache_size(CACHE);
    let opened = catch_unwind(AssertUnwindSafe(|| builder.open(path)));
    match opened {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(DatabaseError::DatabaseAlreadyOpen)) => {
            Err("is open in another process: each gateway needs one of its own".into())
        }
        Ok(Err(DatabaseError::Storage(redb::StorageError::Io(error))))
            if error.kind() != io::ErrorKind::InvalidData =>
        {
            Err(format!("cannot be opened for writing: {error}"))
        }
        Ok(Err(error)) => Err(damaged(error)),
        Err(_) => Err(damaged("its structure makes no sense")),
    }
}

fn damaged(error: impl Display) -> String {
    format!(
        "is no store, or is damaged: {error}. It has not been changed. Put a copy in its place, or \
         move it away to begin with nothing spent"
    )
}

/// Brings the schema to the version of this program.
fn migrate(database: &Database) -> Result<(), String> {
    let version = caught(|| {
        let transaction = database.begin_read()?;
        match transaction.open_table(META) {
            Ok(table) => Ok(table.get(SCHEMA)?.map_or(0, |version| version.value())),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(0),
            Err(error) => Err(error.into()),
        }
    })
    .map_err(damaged)?;
    let ours = MIGRATIONS.len() as u64;
    if version > ours {
        return Err(format!(
            "was written by a newer version: its schema is {version}, and this one reads up to \
             {ours}. It has not been changed"
        ));
    }
    if version == ours {
        return Ok(());
    }
    let missing = MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(usize::MAX));
    let migrated = caught(|| {
        let transaction = database.begin_write()?;
        for migration in missing {
            migration(&transaction)?;
        }
        transaction.open_table(META)?.insert(SCHEMA, ours)?;
        Ok(transaction.commit()?)
    });
    migrated.map_err(|error| format!("cannot be brought up to date: {error}"))
}

/// The result of work on a database, whose code may give up on a damaged file by a panic.
fn caught<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("its structure makes no sense".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pointsman_core::{Config, Request, Router, Seed, Timestamp};

    use super::*;
    use crate::document::node;

    const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("pointsman-store-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_file(&path);
            Self(path)
        }

        fn path(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn router() -> Router {
        let text = format!(
            "{{ groups: {{ g: {{ members: [ {{ id: a, price: {{ input: 1, output: 1 }} }} ] }} }},
                callers: {{ keys: {{ k: {{ sha256: '{}', budget: {{ usd: 5, per: day }} }} }} }} }}",
            "0".repeat(64)
        );
        let catalog = Config::load_scenario(&node(&text).unwrap()).unwrap().catalog;
        Router::new(Arc::new(catalog), NOW)
    }

    fn spend(router: &mut Router) {
        let caller = router.catalog().caller_named("k");
        let request = Request {
            model: "g".into(),
            caller,
            max_output_tokens: Some(1_000),
            ..Request::default()
        };
        let _ = router.begin(request, Seed(1), NOW);
    }

    #[test]
    fn what_is_written_in_parts_comes_back_whole() {
        let scratch = Scratch::new("parts");
        let mut router = router();
        let store = Store::open(scratch.path()).unwrap();
        assert_eq!(store.snapshot(), Ok(None));
        store.write(&rows(&router.snapshot()).unwrap()).unwrap();
        spend(&mut router);
        store.write(&rows(&router.drain_snapshot()).unwrap()).unwrap();
        let expected = router.snapshot();
        assert_eq!(store.snapshot(), Ok(Some(expected.clone())));
        drop(store);
        let store = Store::open(scratch.path()).unwrap();
        assert_eq!(store.snapshot(), Ok(Some(expected)));
        let mode = std::fs::metadata(&scratch.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_and_left_as_it_is() {
        let scratch = Scratch::new("bad");
        for content in [&b""[..], b"not a store at all", &[0; 8192]] {
            std::fs::write(&scratch.0, content).unwrap();
            let fault = Store::open(scratch.path()).unwrap_err();
            assert!(fault.contains(scratch.path()) && fault.contains("move it away"), "{fault}");
            assert_eq!(std::fs::read(&scratch.0).unwrap(), content);
        }
        let fault = Store::open("/no/such/folder/store").unwrap_err();
        assert!(fault.contains("/no/such/folder/store"), "{fault}");
    }

    #[test]
    fn a_damaged_store_is_an_error_and_never_an_empty_one() {
        let scratch = Scratch::new("damaged");
        let mut router = router();
        spend(&mut router);
        let store = Store::open(scratch.path()).unwrap();
        store.write(&rows(&router.snapshot()).unwrap()).unwrap();
        drop(store);
        let whole = std::fs::read(&scratch.0).unwrap();
        // Every page in turn is overwritten.
        for page in 0..whole.len() / 4096 {
            let mut damaged = whole.clone();
            damaged[page * 4096..][..4096].fill(0x5a);
            std::fs::write(&scratch.0, damaged).unwrap();
            let found = Store::open(scratch.path()).and_then(|store| store.snapshot());
            // A page that nothing uses may be damaged.
            assert!(found.is_err() || found == Ok(Some(router.snapshot())), "page {page}");
        }
    }

    #[test]
    fn keys_are_kept_and_that_there_were_any() {
        let scratch = Scratch::new("keys");
        let store = Store::open(scratch.path()).unwrap();
        assert_eq!(store.keys(), Ok(None));
        let keys = StoredKeys::from([("a".into(), b"1".to_vec()), ("b".into(), b"2".to_vec())]);
        store.keep_keys(&keys).unwrap();
        assert_eq!(store.keys(), Ok(Some(keys)));
        store.keep_keys(&StoredKeys::new()).unwrap();
        assert_eq!(store.keys(), Ok(Some(StoredKeys::new())));
    }

    #[test]
    fn a_store_of_the_first_schema_is_brought_up_to_date() {
        let scratch = Scratch::new("old");
        let database = Database::create(&scratch.0).unwrap();
        let transaction = database.begin_write().unwrap();
        first_schema(&transaction).unwrap();
        transaction.open_table(META).unwrap().insert(SCHEMA, 1).unwrap();
        transaction.commit().unwrap();
        drop(database);
        let store = Store::open(scratch.path()).unwrap();
        store.keep_keys(&StoredKeys::new()).unwrap();
        assert_eq!((store.keys(), store.snapshot()), (Ok(Some(StoredKeys::new())), Ok(None)));
    }

    #[test]
    fn one_process_at_a_time_and_no_newer_schema() {
        let scratch = Scratch::new("schema");
        let store = Store::open(scratch.path()).unwrap();
        let fault = Store::open(scratch.path()).unwrap_err();
        assert!(fault.contains("another process"), "{fault}");
        drop(store);
        let database = Database::open(&scratch.0).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(META).unwrap().insert(SCHEMA, 7).unwrap();
        transaction.commit().unwrap();
        drop(database);
        let fault = Store::open(scratch.path()).unwrap_err();
        assert!(fault.contains("schema is 7"), "{fault}");
    }
}
