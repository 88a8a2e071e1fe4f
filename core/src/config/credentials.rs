//! `credentials` of a provider: keys that sign its requests and are not sent themselves.

use super::reader::Value;
use super::secret::{Found, Secret, SecretRef, Secrets};
use crate::node::Node;

/// Access keys of an AWS account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Names the key.
    pub access_key_id: Secret,
    /// The key itself; only what it signs is sent.
    pub secret_access_key: Secret,
    /// What goes with keys that were lent for a time.
    pub session_token: Option<Secret>,
}

/// The parts that must be there.
const NEEDED: [&str; 2] = ["access_key_id", "secret_access_key"];

impl Credentials {
    /// Reads `{ access_key_id, secret_access_key, session_token }`, each a reference; the error is an
    /// optional one that is absent.
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Option<Result<Self, SecretRef>> {
        value.map(|map| {
            let mut part =
                |key| map.need(key, |part| Some((secrets.read(part)?, is_optional(part))));
            let [id, key] = NEEDED.map(&mut part);
            let token = map.read("session_token", |token| secrets.read(token));
            let ((id, id_optional), (key, key_optional)) = (id?, key?);
            // Half a pair of keys is of no use, so one that may be absent must not need the other.
            if id_optional != key_optional {
                map.fault("must have both keys `optional: true`, or neither");
            }
            Some(match (id, key) {
                (Found::Present(access_key_id), Found::Present(secret_access_key)) => Ok(Self {
                    access_key_id,
                    secret_access_key,
                    session_token: match token {
                        Some(Found::Present(token)) => Some(token),
                        Some(Found::Absent(_)) | None => None,
                    },
                }),
                (Found::Absent(reference), _) | (_, Found::Absent(reference)) => Err(reference),
            })
        })?
    }
}

fn is_optional(part: &Value<'_>) -> bool {
    part.under("optional").any(|flag| matches!(flag.node(), Node::Bool(true)))
}
