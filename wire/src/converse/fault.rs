//! What Amazon calls its errors. The name stands in a header of the answer, in its body, or in the
//! headers of a message in a stream.

use pointsman_core::FailureKind;

/// What an error's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Whoever asks may not, or not for this; for what, the message says.
    Denied,
    /// Nobody knows who asks.
    Access,
    NotFound,
    Throttled,
    Quota,
    Overloaded,
    /// The model or the service failed.
    Server,
    /// Something is wrong with the request; what, the message says.
    Request,
}

impl Fault {
    /// By a name such as `ThrottlingException`, with a namespace before or an address behind it, and
    /// in a stream with a small letter first; `None` if it is not known.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = name.rsplit('#').next().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default().trim();
        let known =
            |(names, _): &&(&[&str], Self)| names.iter().any(|n| n.eq_ignore_ascii_case(name));
        NAMES.iter().find(known).map(|(_, fault)| *fault)
    }

    pub(super) const fn kind(self) -> FailureKind {
        match self {
            Self::Denied | Self::Access => FailureKind::Auth,
            Self::NotFound => FailureKind::NotFound,
            Self::Throttled => FailureKind::RateLimited,
            Self::Quota => FailureKind::QuotaExhausted,
            Self::Overloaded => FailureKind::Overloaded,
            Self::Server => FailureKind::Server,
            Self::Request => FailureKind::BadRequest,
        }
    }

    /// The status that goes with it where there is none, as in a stream.
    pub(super) const fn status(self) -> u16 {
        match self {
            Self::Denied | Self::Access => 403,
            Self::NotFound => 404,
            Self::Throttled => 429,
            Self::Quota | Self::Request => 400,
            Self::Overloaded => 503,
            Self::Server => 500,
        }
    }
}

/// The errors of Converse and ConverseStream, and those that every service of Amazon's has.
const NAMES: &[(&[&str], Fault)] = &[
    (&["AccessDeniedException", "AccessDenied"], Fault::Denied),
    (
        &[
            "ExpiredTokenException",
            "ExpiredToken",
            "IncompleteSignatureException",
            "IncompleteSignature",
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "InvalidSignatureException",
            "MissingAuthenticationTokenException",
            "MissingAuthenticationToken",
            "NotAuthorized",
            "OptInRequired",
            "RequestExpired",
            "SignatureDoesNotMatch",
            "UnauthorizedException",
            "UnrecognizedClientException",
        ],
        Fault::Access,
    ),
    (&["ResourceNotFoundException", "UnknownOperationException"], Fault::NotFound),
    (
        &["ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded"],
        Fault::Throttled,
    ),
    (&["ServiceQuotaExceededException", "LimitExceededException"], Fault::Quota),
    // A model that is not ready is being loaded.
    (
        &["ModelNotReadyException", "ServiceUnavailableException", "ServiceUnavailable"],
        Fault::Overloaded,
    ),
    (
        &[
            "InternalFailure",
            "InternalServerException",
            "InternalServerError",
            "ModelErrorException",
            "ModelStreamErrorException",
            "ModelTimeoutException",
        ],
        Fault::Server,
    ),
    (&["ValidationException", "ValidationError", "SerializationException"], Fault::Request),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_however_they_are_written() {
        for name in [
            "ThrottlingException",
            "throttlingException",
            "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/",
            "com.amazon.coral.availability#ThrottlingException",
        ] {
            assert_eq!(Fault::named(name), Some(Fault::Throttled), "{name}");
        }
        for name in ["", "x", "#", ":", "Throttling Exception"] {
            assert_eq!(Fault::named(name), None, "{name}");
        }
    }
}
