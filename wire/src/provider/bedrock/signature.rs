//! AWS Signature Version 4 of a request: the last thing that is done to it, over its final body.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use aws_credential_types::Credentials as Identity;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SigningInstructions, SigningParams, SigningSettings,
};
use aws_sigv4::sign::v4;
use pointsman_core::{Credentials, Timestamp};

use crate::header::Header;
use crate::target::{RequestHead, Target};

/// The service's name in what is signed.
const SERVICE: &str = "bedrock";

/// The request cannot be signed: its address or a header is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsignable;

/// Signs a request with the target's credentials, if it has any: `now` is part of the signature,
/// which holds for five minutes. A request that carries an `authorization` already is left alone.
pub(crate) fn sign(
    head: &mut RequestHead,
    target: &Target<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Unsignable> {
    let (Some(credentials), Some(region)) = (target.credentials, target.region) else {
        return Ok(());
    };
    if head.headers.iter().any(|header| header.name == "authorization") {
        return Ok(());
    }
    let instructions = instructions(head, credentials, (region, SERVICE), body, now)?;
    for (name, value) in instructions.headers() {
        head.headers.push(Header::secret(name, value.to_owned()));
    }
    Ok(())
}

/// The headers to add. `scope` is the region and the service.
fn instructions(
    head: &RequestHead,
    credentials: &Credentials,
    (region, service): (&str, &str),
    body: &[u8],
    now: Timestamp,
) -> Result<SigningInstructions, Unsignable> {
    let token = credentials.session_token.as_ref().map(|token| token.expose().to_owned());
    let (id, key) = (credentials.access_key_id.expose(), credentials.secret_access_key.expose());
    let identity = Identity::new(id, key, token, None, "configuration").into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(UNIX_EPOCH + Duration::from_micros(now.as_micros()))
        .settings(SigningSettings::default())
        .build()
        .map_err(|_| Unsignable)?;
    let params: SigningParams<'_> = params.into();
    let headers = head.headers.iter().filter(|header| is_signed(&header.name));
    let headers = headers.map(|header| (&*header.name, &*header.value));
    let body = SignableBody::Bytes(body);
    let request =
        SignableRequest::new(head.method, &*head.url, headers, body).map_err(|_| Unsignable)?;
    let signed = aws_sigv4::http_request::sign(request, &params).map_err(|_| Unsignable)?;
    Ok(signed.into_parts().0)
}

/// What Amazon demands to be signed beside the host; the rest may be changed by whoever stands
/// between.
fn is_signed(name: &str) -> bool {
    name == "content-type" || name.starts_with("x-amz")
}

#[cfg(test)]
mod tests {
    use pointsman_core::{Protocol, Secret};

    use super::*;

    /// 2015-08-30T12:36:00Z, the time of all vectors.
    const NOW: Timestamp = Timestamp::from_micros(1_440_938_160_000_000);

    fn credentials(token: Option<&str>) -> Credentials {
        let secret = |text: &str| Secret::new(text.into());
        Credentials {
            access_key_id: secret("AKIDEXAMPLE"),
            secret_access_key: secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: token.map(secret),
        }
    }

    fn signature(method: &'static str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let url = format!("https://example.amazonaws.com{path}");
        let headers = headers.iter().map(|(name, value)| Header::plain(name, value)).collect();
        let head = RequestHead { method, url, headers };
        let scope = ("us-east-1", "service");
        let signed = instructions(&head, &credentials(None), scope, body.as_bytes(), NOW).unwrap();
        let value = signed.headers().find(|(name, _)| *name == "authorization").unwrap().1;
        let (start, signature) = value.split_once(", Signature=").unwrap();
        let scope = "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request";
        assert!(start.starts_with(&format!("AWS4-HMAC-SHA256 {scope}, ")), "{start}");
        signature.to_owned()
    }

    /// Signatures of Amazon's published test suite for Signature Version 4.
    #[test]
    fn the_published_vectors() {
        let form = ("content-type", "application/x-www-form-urlencoded");
        for (name, method, path, headers, body, expected) in [
            (
                "get-vanilla",
                "GET",
                "/",
                &[][..],
                "",
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "post-vanilla",
                "POST",
                "/",
                &[],
                "",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                "get-utf8",
                "GET",
                "/ሴ",
                &[],
                "",
                "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
            ),
            (
                "get-vanilla-query-order-key-case",
                "GET",
                "/?Param2=value2&Param1=value1",
                &[],
                "",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "post-x-www-form-urlencoded",
                "POST",
                "/",
                &[form],
                "Param1=value1",
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
        ] {
            assert_eq!(signature(method, path, headers, body), expected, "{name}");
        }
    }

    fn signed(target: &Target<'_>) -> RequestHead {
        let mut head = super::super::head(target, false);
        sign(&mut head, target, b"{}", NOW).unwrap();
        head
    }

    fn value<'a>(head: &'a RequestHead, name: &str) -> Option<&'a str> {
        head.headers.iter().find(|header| header.name == name).map(|header| &*header.value)
    }

    #[test]
    fn who_has_keys_signs_and_shows_none_of_it() {
        let credentials = credentials(Some("a-session"));
        let credentials = Some(&credentials);
        let region = Some("eu-west-1");
        let target = Target { credentials, region, model: "m", ..Target::new(Protocol::Bedrock) };
        let head = signed(&target);
        assert_eq!(value(&head, "x-amz-date"), Some("20150830T123600Z"));
        assert_eq!(value(&head, "x-amz-security-token"), Some("a-session"));
        let authorization = value(&head, "authorization").unwrap();
        let names = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token,";
        assert!(authorization.contains("/20150830/eu-west-1/bedrock/aws4_request"));
        assert!(authorization.contains(names), "{authorization}");
        let shown = format!("{head:?} {target:?}");
        assert!(!shown.contains("a-session") && !shown.contains("AKID"), "{shown}");
    }

    #[test]
    fn an_operators_own_authorization_stays() {
        let credentials = credentials(None);
        let headers = [("Authorization".to_owned(), "theirs".to_owned())];
        let target = Target {
            credentials: Some(&credentials),
            region: Some("a"),
            headers: &headers,
            ..Target::new(Protocol::Bedrock)
        };
        let head = signed(&target);
        assert_eq!(
            (value(&head, "authorization"), value(&head, "x-amz-date")),
            (Some("theirs"), None)
        );
    }

    #[test]
    fn the_signature_covers_body_time_and_model() {
        let credentials = credentials(None);
        let target = Target {
            credentials: Some(&credentials),
            region: Some("a"),
            model: "m",
            ..Target::new(Protocol::Bedrock)
        };
        let sign = |target: &Target<'_>, body: &[u8], now| {
            let mut head = super::super::head(target, false);
            sign(&mut head, target, body, now).unwrap();
            value(&head, "authorization").unwrap().to_owned()
        };
        let first = sign(&target, b"{}", NOW);
        assert_eq!(first, sign(&target, b"{}", NOW));
        assert_ne!(first, sign(&target, b"{ }", NOW));
        assert_ne!(first, sign(&target, b"{}", NOW.plus(Duration::from_secs(1))));
        assert_ne!(first, sign(&Target { model: "n", ..target }, b"{}", NOW));
    }
}
