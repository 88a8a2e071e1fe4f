//! The usage log's file: one line of JSON for each call, written behind the path of the requests by
//! a thread of its own.
//!
//! Records are written a few at a time: woken by one, the thread lets others come before it writes, so
//! that a busy gateway does not pay for a wake and a write with each call. What waits to be written is
//! bounded. What finds no room, or cannot be written, is lost, counted in
//! `pointsman_usage_records_total{result="lost"}` and warned of once a minute; no request ever waits.
//! When the file is moved away, as log rotation does, a new one is begun in its place; where that cannot be
//! and the old one is deleted, records are lost too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;

use crate::usage::UsageRecord;

/// Records that may wait: a second of eight thousand calls.
const ROOM: usize = 8_192;
/// Bytes that are written at once, about.
const BATCH: usize = 256 * 1024;
/// How long the first of several waits for the others: what a kill may lose.
const GATHER: Duration = Duration::from_millis(20);
/// How often the log looks whether its file is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the end may take, on a disk that hangs.
const END_TIME: Duration = Duration::from_secs(5);
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The end to give records to.
#[derive(Debug)]
pub(crate) struct UsageLog {
    queue: SyncSender<Message>,
    lost: Counter,
}

#[derive(Debug)]
enum Message {
    Record(Box<UsageRecord>),
    /// Write what is there, and tell.
    End(mpsc::Sender<()>),
}

impl UsageLog {
    /// Opens the file and starts to write. `written` and `lost` count records.
    ///
    /// # Errors
    /// The file cannot be opened; the text names it.
    pub(crate) fn open(path: &str, written: Counter, lost: Counter) -> Result<Self, String> {
        let file =
            append(path).map_err(|error| format!("cannot open the usage log `{path}`: {error}"))?;
        let (queue, records) = mpsc::sync_channel(ROOM);
        let mut writer = Writer {
            path: path.to_owned(),
            file,
            lines: Vec::new(),
            torn: false,
            gone: None,
            looked: Instant::now(),
            warned: None,
            written,
            lost: lost.clone(),
        };
        std::thread::spawn(move || writer.run(&records));
        Ok(Self { queue, lost })
    }

    /// Hands a record over, if there is room.
    pub(crate) fn write(&self, record: UsageRecord) {
        if self.queue.try_send(Message::Record(Box::new(record))).is_err() {
            self.lost.inc();
        }
    }

    /// Waits until everything that was handed over is written.
    pub(crate) fn finish(&self) {
        let until = Instant::now() + END_TIME;
        let (done, told) = mpsc::channel();
        let mut message = Message::End(done);
        while let Err(TrySendError::Full(back)) = self.queue.try_send(message) {
            if Instant::now() >= until {
                tracing::warn!("the usage log's disk hangs: its last records are lost");
                return;
            }
            message = back;
            std::thread::sleep(Duration::from_millis(10));
        }
        let left = until.saturating_duration_since(Instant::now());
        if told.recv_timeout(left).is_err() {
            tracing::warn!("the usage log's end may not be on disk");
        }
    }
}

fn append(path: &str) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Turns records into lines, and writes them.
struct Writer {
    path: String,
    file: File,
    lines: Vec<u8>,
    /// The file ends in the middle of a line.
    torn: bool,
    /// Why there is no other, if the file has no place any more: nobody would find what is written there.
    gone: Option<io::Error>,
    looked: Instant,
    warned: Option<Instant>,
    written: Counter,
    lost: Counter,
}

impl Writer {
    fn run(&mut self, records: &Receiver<Message>) {
        while let Ok(first) = records.recv() {
            // Asleep, not waiting at the queue: nobody spends a system call on waking it.
            std::thread::sleep(GATHER);
            let mut next = Some(first);
            let mut end = None;
            while let Some(message) = next {
                match message {
                    Message::Record(record) => self.add(&record),
                    Message::End(done) => end = Some(done),
                }
                next = if self.lines.len() < BATCH { records.try_recv().ok() } else { None };
            }
            self.reopen_if_moved();
            self.write();
            if let Some(done) = end {
                // The lines are written; whether the disk has them is beyond us.
                let _ = self.file.sync_data();
                let _ = done.send(());
            }
        }
    }

    fn add(&mut self, record: &UsageRecord) {
        let before = self.lines.len();
        match serde_json::to_writer(&mut self.lines, record) {
            Ok(()) => self.lines.push(b'\n'),
            Err(_) => {
                self.lines.truncate(before);
                self.lost.inc();
            }
        }
    }

    fn write(&mut self) {
        let (mut done, mut fault) = (0, self.gone.take());
        if self.torn && fault.is_none() {
            let (mended, error) = put(&mut self.file, b"\n");
            (self.torn, fault) = (mended == 0, error);
        }
        if fault.is_none() {
            (done, fault) = put(&mut self.file, &self.lines);
            self.torn = self.lines[..done].last().is_some_and(|byte| *byte != b'\n');
        }
        let (written, lost) = self.lines.split_at(done);
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.written.inc_by(count(written));
        self.lost.inc_by(count(lost));
        self.lines.clear();
        if let Some(error) = fault {
            self.warn(&error);
        }
    }

    fn reopen_if_moved(&mut self) {
        let own = self.file.metadata();
        let gone = own.as_ref().is_ok_and(|about| about.nlink() == 0);
        if !gone && self.looked.elapsed() < LOOK_EVERY {
            return;
        }
        self.looked = Instant::now();
        let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let here = own.map(place).ok();
        if !gone && std::fs::metadata(&self.path).map(place).ok() == here {
            return;
        }
        match append(&self.path) {
            Ok(file) => {
                self.file = file;
                self.torn = false;
            }
            Err(error) if gone => self.gone = Some(error),
            Err(error) => self.warn(&error),
        }
    }

    fn warn(&mut self, error: &io::Error) {
        if self.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            let (path, lost) = (&self.path, self.lost.get());
            tracing::warn!(path, %error, lost, "usage records cannot be written");
        }
    }
}

/// Writes as much as the file takes.
fn put(file: &mut File, bytes: &[u8]) -> (usize, Option<io::Error>) {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => return (done, Some(io::ErrorKind::WriteZero.into())),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::tests::record;

    fn numbers(path: &str) -> Vec<u64> {
        let text = std::fs::read_to_string(path).unwrap();
        let number = |line: &str| serde_json::from_str::<UsageRecord>(line).unwrap().decision;
        text.lines().map(number).collect()
    }

    #[test]
    fn records_are_appended_and_a_moved_file_is_begun_anew() {
        let folder = std::env::temp_dir().join(format!("pointsman-usage-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("usage.jsonl").to_str().unwrap().to_owned();
        let (written, lost) = (Counter::default(), Counter::default());
        for run in 0..2 {
            let log = UsageLog::open(&path, written.clone(), lost.clone()).unwrap();
            (0..3).for_each(|number| log.write(record(run * 10 + number)));
            log.finish();
        }
        assert_eq!(numbers(&path), [0, 1, 2, 10, 11, 12]);
        let log = UsageLog::open(&path, written.clone(), lost.clone()).unwrap();
        std::fs::rename(&path, format!("{path}.1")).unwrap();
        std::thread::sleep(LOOK_EVERY);
        log.write(record(20));
        log.finish();
        assert_eq!(numbers(&path), [20]);
        assert_eq!((written.get(), lost.get()), (7, 0));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_written_where_nobody_finds_it_is_lost() {
        let folder = std::env::temp_dir().join(format!("pointsman-gone-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("usage.jsonl").to_str().unwrap().to_owned();
        let (written, lost) = (Counter::default(), Counter::default());
        let log = UsageLog::open(&path, written.clone(), lost.clone()).unwrap();
        let both = || (written.get(), lost.get());
        let settle = |count| while written.get() + lost.get() < count {};
        log.write(record(0));
        settle(1);
        std::fs::remove_file(&path).unwrap();
        log.write(record(1));
        settle(2);
        assert_eq!((numbers(&path), both()), (vec![1], (2, 0)), "begun anew at once");
        std::fs::remove_dir_all(&folder).unwrap();
        log.write(record(2));
        settle(3);
        assert_eq!(both(), (2, 1));
        std::fs::create_dir_all(&folder).unwrap();
        log.write(record(3));
        log.finish();
        assert_eq!((numbers(&path), both()), (vec![3], (3, 1)));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_holds_nobody_up() {
        let (written, lost) = (Counter::default(), Counter::default());
        // A disk that is always full.
        let log = UsageLog::open("/dev/full", written.clone(), lost.clone()).unwrap();
        (0..5).for_each(|number| log.write(record(number)));
        log.finish();
        assert_eq!((written.get(), lost.get()), (0, 5));
        let fault = UsageLog::open("/no/such/folder/x", written, lost).unwrap_err();
        assert!(fault.contains("/no/such/folder/x"), "{fault}");
    }
}
