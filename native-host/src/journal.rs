//! The journal's file: written behind the path of the requests, by a thread of its own.
//!
//! The thread takes what has been recorded a few times a second, in one exchange of buffers under the
//! router's lock. What waits meanwhile is bounded: if the disk cannot keep up, or the file has its
//! full size, the journal ends there and the log says so. Calls go on either way.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::gateway::Gateway;

/// Bytes that may wait to be written: seconds of ten thousand calls each.
pub(crate) const ROOM: usize = 16 << 20;
/// How often what has been recorded is written.
const PERIOD: Duration = Duration::from_millis(100);
/// A file's size at most, in bytes.
const LONGEST_FILE: u64 = 4 << 30;

/// Creates the file, for its owner and this process alone. One that is there is kept under the name with
/// `.old` behind, in the place of an older one: a journal belongs to one run of the process.
///
/// # Errors
/// The file cannot be created, or another process writes to it; the text names it.
pub(crate) fn create(path: &str) -> Result<File, String> {
    let fault = |error| format!("cannot create the journal `{path}`: {error}");
    let place = Path::new(path);
    if place.exists() {
        let before = File::open(place).map_err(fault)?;
        if matches!(before.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(format!(
                "the journal `{path}` is written by another process: give each its own `state.journal`"
            ));
        }
        let mut old = place.as_os_str().to_owned();
        old.push(".old");
        std::fs::rename(place, PathBuf::from(old)).map_err(fault)?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(place);
    let file = file.map_err(fault)?;
    // Where the file system knows no locks, there is none.
    let _ = file.try_lock();
    Ok(file)
}

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct Keeper {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Starts to write what the gateway's router records.
    pub(crate) fn start(gateway: Arc<Gateway>, file: File) -> Self {
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            let mut copy = Copy { file, buffer: Vec::new(), written: 0, over: false };
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                copy.on(&gateway);
            }
            copy.on(&gateway);
            if let Err(error) = copy.file.sync_all() {
                tracing::warn!(%error, "the journal's end may not be on disk");
            }
        });
        Self { end, thread }
    }

    /// Writes what is left, and ends.
    pub(crate) fn finish(self) {
        drop(self.end);
        // It panics nowhere; and if it did, there is nothing left to write.
        let _ = self.thread.join();
    }
}

/// Copies from the router's buffer to the file.
struct Copy {
    file: File,
    buffer: Vec<u8>,
    written: u64,
    /// Nothing more is written, and that has been said.
    over: bool,
}

impl Copy {
    fn on(&mut self, gateway: &Gateway) {
        let lost = gateway.take_journal(&mut self.buffer);
        if self.over {
            return;
        }
        self.written = self.written.saturating_add(self.buffer.len() as u64);
        if self.written > LONGEST_FILE {
            self.ends("it has its full size");
        } else if let Err(error) = self.file.write_all(&self.buffer) {
            self.ends(&error.to_string());
        } else if lost {
            self.ends("it could not be written as fast as calls came");
        }
    }

    fn ends(&mut self, why: &str) {
        self.over = true;
        tracing::warn!(why, "the journal has ended; the next start begins another");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pointsman_core::journal::replay;
    use pointsman_core::{Config, Request, Server};

    use super::*;
    use crate::document::node;
    use crate::live::{Live, Means};

    #[test]
    fn what_the_gateway_decides_is_in_the_file_and_replays() {
        let folder = std::env::temp_dir().join(format!("pointsman-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("journal");
        let name = path.to_str().unwrap();
        let document = node("groups: { g: { members: [ { id: a }, { id: b } ] } }").unwrap();
        let loaded = Config::load_scenario(&document).unwrap();
        let catalog = Arc::new(loaded.catalog);
        for run in 0..2 {
            let file = create(name).unwrap();
            let other = create(name).unwrap_err();
            assert!(other.contains("another process"), "{other}");
            let (config, catalog) = (loaded.config.clone(), Arc::clone(&catalog));
            let live = Live::new(config, catalog, Means::default(), None);
            let gateway = Gateway::new(live, &Server::default(), Some(ROOM), None);
            let gateway = Arc::new(gateway.unwrap());
            let keeper = Keeper::start(Arc::clone(&gateway), file);
            for _ in 0..=run {
                drop(gateway.begin(Request { model: "g".into(), ..Request::default() }));
            }
            keeper.finish();
        }
        let calls = |name: &str| replay(&std::fs::read(name).unwrap()).unwrap().calls;
        assert_eq!((calls(name), calls(&format!("{name}.old"))), (2, 1));
        let mode = std::fs::metadata(name).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
