//! Commands that a running gateway carries out, through its admin API.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use hyper::client::conn::http1;
use serde_json::Value;

use super::runtime;
use crate::body::OutBody;
use crate::cli::AdminArgs;
use crate::dial::Connector;
use crate::intake;
use crate::pool::describe;
use crate::tls::certificates;

/// The largest answer, in bytes.
const MAX_ANSWER: usize = 16 << 20;
/// Where the token is.
const TOKEN: &str = "POINTSMAN_ADMIN_TOKEN";

/// Asks the gateway, and gives its document.
///
/// # Errors
/// It cannot be reached, or says no: in words.
pub(crate) fn ask(
    admin: &AdminArgs,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, String> {
    runtime()?.block_on(exchange(admin, method, path, body))
}

async fn exchange(
    admin: &AdminArgs,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, String> {
    let cannot = |error: &dyn std::fmt::Display| {
        format!("cannot ask the gateway at `{}`: {error} (`--admin` says where it is)", admin.admin)
    };
    let roots = admin.ca.as_deref().map(certificates).transpose()?.unwrap_or_default();
    let to: Uri = with_scheme(&admin.admin).parse().map_err(|error| cannot(&error))?;
    let stream = Connector::http1(&roots)?.connect(to.clone()).await;
    let stream = stream.map_err(|error| cannot(&describe(error.as_ref())))?;
    let (mut sender, connection) =
        http1::handshake(stream).await.map_err(|error| cannot(&error))?;
    let connection = tokio::spawn(connection);
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut request = Request::new(OutBody::whole(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().map_err(|error| cannot(&error))?;
    let host = to.authority().map_or("", |authority| authority.as_str());
    let host = HeaderValue::from_str(host).map_err(|error| cannot(&error))?;
    request.headers_mut().insert(header::HOST, host);
    if let Ok(token) = std::env::var(TOKEN) {
        let token = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut token = token.map_err(|_| format!("`{TOKEN}` holds what no header may"))?;
        token.set_sensitive(true);
        request.headers_mut().insert(header::AUTHORIZATION, token);
    }
    let response = sender.send_request(request).await.map_err(|error| cannot(&error))?;
    let (head, mut body) = response.into_parts();
    let body = intake::read(&mut body, MAX_ANSWER).await;
    connection.abort();
    answer(head.status, &body.unwrap_or_default())
}

/// An address is often said without one, as a listener's is in the config.
fn with_scheme(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("http://{address}") }
}

fn answer(status: http::StatusCode, body: &Bytes) -> Result<Value, String> {
    let document: Option<Value> = serde_json::from_slice(body).ok();
    if status == http::StatusCode::UNAUTHORIZED {
        return Err(format!("the gateway wants its admin token: set `{TOKEN}`"));
    }
    if !status.is_success() {
        let problem = document.as_ref().and_then(|document| document["error"].as_str());
        return Err(problem.map_or_else(|| format!("the gateway says {status}"), str::to_owned));
    }
    document.ok_or_else(|| "what answers there is no gateway's admin listener".into())
}

/// A name as a step of an address.
pub(crate) fn step(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let written = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_scheme() {
        assert_eq!(with_scheme("127.0.0.1:9090"), "http://127.0.0.1:9090");
        assert_eq!(with_scheme("https://a:1"), "https://a:1");
    }

    #[test]
    fn a_name_is_one_step_of_an_address() {
        assert_eq!(step("my-app_1"), "my-app_1");
        assert_eq!(step("a/b c?é"), "a%2Fb%20c%3F%C3%A9");
    }
}
