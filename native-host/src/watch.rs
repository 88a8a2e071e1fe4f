//! Files that change: the config, and the certificates and secrets that it refers to.
//!
//! Their contents are looked at every few seconds, whatever way they get there: an editor, a copy over
//! them, or Kubernetes' links that lead elsewhere all at once. What differs from what was last loaded
//! is loaded when it has stayed the same for one look, so that a file of which a half is written is
//! left in peace. While it has a fault, the last good one stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pointsman_core::Node;

use crate::document;
use crate::gateway::Gateway;
use crate::keys::hash;
use crate::stop::Phase;

/// What stands in files: a hash of each, `None` for one that cannot be read.
pub(crate) type Contents = BTreeMap<PathBuf, Option<[u8; 32]>>;

/// The largest file that is looked into, in bytes; of a larger one only the length counts.
const LARGEST: u64 = 64 << 20;

/// Looks until the gateway drains.
pub(crate) async fn run(gateway: Arc<Gateway>, every: Duration) {
    let mut seen: Option<Contents> = None;
    let mut ended = std::pin::pin!(gateway.stop.reached(Phase::Draining));
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = &mut ended => return,
        }
        let (own, before) = (Arc::clone(&gateway), seen.take());
        let look = tokio::task::spawn_blocking(move || look(&own, before));
        seen = look.await.unwrap_or_default();
    }
}

/// One look; gives what has changed and is to be looked at once more.
fn look(gateway: &Gateway, before: Option<Contents>) -> Option<Contents> {
    let origin = gateway.origin()?;
    let now = origin.contents();
    if origin.is_loaded(&now) {
        return None;
    }
    if before.as_ref() != Some(&now) {
        return Some(now);
    }
    // What came of it is in the log.
    let _ = gateway.reload(false);
    None
}

/// What stands in a config's file and in those that its text refers to.
pub(crate) fn contents(path: &Path) -> Contents {
    let bytes = content(path);
    let mut paths = Vec::new();
    let text = bytes.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    if let Some(Ok(document)) = text.map(document::node) {
        referred(&document, &mut paths);
    }
    let hashed = |bytes: Option<Vec<u8>>| bytes.map(|bytes| hash(&bytes));
    let others = paths.into_iter().map(|path| (path.clone(), hashed(content(&path))));
    others.chain([(path.to_owned(), hashed(bytes))]).collect()
}

/// A secret's `file`, the `cert` and `key` of TLS, and a `ca`.
fn referred(node: &Node, paths: &mut Vec<PathBuf>) {
    match node {
        Node::Map(entries) => {
            for (key, value) in entries {
                match value {
                    Node::Text(path) if ["file", "cert", "key", "ca"].contains(&key.as_str()) => {
                        paths.push(PathBuf::from(path));
                    }
                    value => referred(value, paths),
                }
            }
        }
        Node::List(items) => items.iter().for_each(|item| referred(item, paths)),
        Node::Null | Node::Bool(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) => {}
    }
}

/// What stands in a file, or the length of one that is too large to look into. `None` if there is none,
/// or something else in its place: a pipe would hang.
fn content(path: &Path) -> Option<Vec<u8>> {
    let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if about.len() > LARGEST {
        return Some(about.len().to_le_bytes().to_vec());
    }
    std::fs::read(path).ok()
}
