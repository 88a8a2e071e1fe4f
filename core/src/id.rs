//! Identities: dense indices, so that tables are vectors and order is the catalog's.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub(crate) $int);

        impl $name {
            /// The number behind the identity, as hosts pass it across a boundary.
            pub const fn number(self) -> $int {
                self.0
            }

            /// The identity behind a number that came from [`Self::number`].
            pub const fn from_number(number: $int) -> Self {
                Self(number)
            }

            #[allow(dead_code, reason = "not every identity is a table index")]
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A deployment. Its name keeps this number for the router's life; a retired one is never reused.
    DeploymentId(u32)
}
id! {
    /// A group, within one catalog.
    GroupId(u32)
}
id! {
    /// A provider, within one catalog.
    ProviderId(u32)
}
id! {
    /// An owner of limits above the deployments: a key, a team, an organisation or the gateway. Its
    /// name keeps this number for the router's life; a retired one is never reused.
    CallerId(u32)
}
id! {
    /// A call, unique within one router.
    CallId(u64)
}
id! {
    /// What one attempt holds of limits and slots until it is settled.
    ReservationId(u64)
}
id! {
    /// An attempt's number within its call, from 1.
    AttemptNo(u32)
}

impl AttemptNo {
    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}
