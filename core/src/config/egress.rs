//! `egress`: the way out to providers.

use super::reader::{Fields, Value};
use super::secret::{Secret, Secrets};

/// The way out to every provider that has none of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// Through what; if absent, what the host's environment says.
    pub proxy: Option<Proxy>,
    /// Names, domains and networks that are reached without the proxy.
    pub no_proxy: Vec<String>,
    /// A file with certificates, as PEM, that are trusted besides the well-known roots.
    pub ca: Option<String>,
}

/// What stands between a host and a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// Nothing.
    None,
    /// A proxy that opens tunnels (`CONNECT`): its address, which may carry a name and a password.
    At(Secret),
}

impl Egress {
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        value.fields(|map| {
            let (proxy, ca) = way_out(map, secrets);
            let no_proxy = map.get("no_proxy");
            if let Some(no_proxy) = &no_proxy
                && !matches!(proxy, Some(Proxy::At(_)))
                && matches!(secrets, Secrets::Lookup(_))
            {
                no_proxy.fault("has no use without a `proxy` beside it");
            }
            let no_proxy = no_proxy.and_then(|all| all.list(exception)).unwrap_or_default();
            Self { proxy, no_proxy, ca }
        })
    }
}

/// Reads `proxy` and `ca`.
pub(crate) fn way_out(
    map: &mut Fields<'_>,
    secrets: Secrets<'_>,
) -> (Option<Proxy>, Option<String>) {
    (map.read("proxy", |proxy| self::proxy(proxy, secrets)), map.read("ca", Value::text))
}

/// Reads `none`, an address, or a reference to one. What may hold a password is not repeated.
fn proxy(value: &Value<'_>, secrets: Secrets<'_>) -> Option<Proxy> {
    if value.as_text() == Some("none") {
        return Some(Proxy::None);
    }
    if value.as_text().is_some_and(|text| text.contains('@')) {
        value.fault("must not carry credentials in the document: write `{ env: NAME }`");
        return None;
    }
    let address = secrets.read_text(value)?;
    let rest = ["http://", "https://"].iter().find_map(|s| address.expose().strip_prefix(s));
    let host = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    let host = host.map(|host| host.rsplit_once('@').map_or(host, |(_, host)| host));
    if !matches!(secrets, Secrets::NotNeeded)
        && !host.is_some_and(|host| !host.contains('/') && super::provider::is_host(host))
    {
        value.fault("is not the address of an HTTP proxy, such as http://proxy.example.com:3128");
        return None;
    }
    Some(Proxy::At(address))
}

/// Reads a name, a domain, an address or a network.
fn exception(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let sound = |c: char| c.is_ascii_alphanumeric() || ".-_:/[]*".contains(c);
    if !text.chars().all(sound) || (text.contains('*') && text != "*") {
        value.fault("is not a host, a domain or a network, such as 10.0.0.0/8 or .example.com");
        return None;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SecretRef;
    use crate::config::fault::Faults;
    use crate::config::yaml_node;

    fn read(yaml: &str) -> (Egress, Vec<String>) {
        let node = yaml_node(yaml);
        let faults = Faults::default();
        let lookup = |wanted: &SecretRef| match wanted {
            SecretRef::Env(name) if name == "PROXY" => Some("http://me:pass@proxy:1".to_owned()),
            _ => None,
        };
        let read = Egress::read(&Value::root(&node, &faults), Secrets::Lookup(&lookup));
        (read, faults.into_sorted().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_proxy_is_none_an_address_or_a_reference() {
        let at = |text: &str| Some(Proxy::At(Secret::new(text.into())));
        assert_eq!(read("{ proxy: none, ca: a.pem }").0.proxy, Some(Proxy::None));
        assert_eq!(read("{ proxy: 'http://[::1]:3128/' }").0.proxy, at("http://[::1]:3128/"));
        let (found, faults) = read("{ proxy: { env: PROXY }, no_proxy: [10.0.0.0/8, .lan] }");
        assert_eq!((found.proxy.clone(), faults), (at("http://me:pass@proxy:1"), vec![]));
        assert!(!format!("{found:?}").contains("pass"));
    }

    #[test]
    fn what_is_no_proxy_is_told_and_no_password_repeated() {
        for (yaml, part) in [
            ("{ proxy: 'http://me:pass@proxy:1' }", "proxy: must not carry credentials"),
            ("{ proxy: 'socks5://proxy:1' }", "proxy: is not the address of an HTTP proxy"),
            ("{ proxy: proxy:3128 }", "proxy: is not the address of an HTTP proxy"),
            ("{ proxy: 'http://proxy/path' }", "proxy: is not the address of an HTTP proxy"),
            ("{ no_proxy: [a] }", "no_proxy: has no use without a `proxy`"),
            ("{ proxy: 'http://a', no_proxy: ['*.lan'] }", "no_proxy[0]: is not a host"),
        ] {
            let (_, faults) = read(yaml);
            assert!(faults.len() == 1 && faults[0].contains(part), "{yaml}: {faults:?}");
            assert!(!faults[0].contains("pass@"), "{faults:?}");
        }
    }
}
