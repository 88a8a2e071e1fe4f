//! Which way out each provider has: its own, that of all, or what the environment says.
//!
//! Of the environment `HTTPS_PROXY` and `NO_PROXY` count (in either case of letters), for addresses
//! with https and only where `egress.proxy` is absent: whoever sets them expects it. `HTTP_PROXY` is
//! passed over: an address without TLS is of a machine nearby. Loopback is never reached through a
//! proxy, unless its provider has one of its own.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use pointsman_core::{ConfigFault, Egress, ProviderConfig, Proxy};
use rustls::pki_types::CertificateDer;

use crate::dial::{Exit, ProxyAddress};
use crate::tls::certificates;

/// Who is never reached through the proxy of all.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// The ways out of one configuration.
#[derive(Debug)]
pub(crate) struct Exits {
    matcher: Matcher,
    roots: Vec<CertificateDer<'static>>,
}

impl Exits {
    /// Those of a configuration, in an environment in which `variable` finds one.
    ///
    /// # Errors
    /// A proxy or a file that cannot be used, by the key or the variable that names it.
    pub(crate) fn new(
        egress: &Egress,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<ConfigFault>> {
        let mut faults = Vec::new();
        let matcher = match &egress.proxy {
            Some(Proxy::None) => Matcher::builder(),
            Some(Proxy::At(address)) => {
                if let Err(fault) = parsed("egress.proxy", address.expose()) {
                    faults.push(fault);
                }
                let exceptions = [&[LOOPBACK.to_owned()], &egress.no_proxy[..]].concat();
                Matcher::builder().all(address.expose().to_owned()).no(exceptions.join(","))
            }
            None => {
                let either = |name: &str| {
                    let found = variable(name).or_else(|| variable(&name.to_ascii_lowercase()));
                    found.unwrap_or_default()
                };
                let address = either("HTTPS_PROXY");
                if !address.is_empty()
                    && let Err(mut fault) = parsed("HTTPS_PROXY", &address)
                {
                    fault.message += "; `egress: { proxy: none }` makes do without";
                    faults.push(fault);
                }
                let exceptions = format!("{LOOPBACK},{}", either("NO_PROXY"));
                Matcher::builder().https(address).no(exceptions)
            }
        };
        let roots = trusted("egress.ca", egress.ca.as_deref()).unwrap_or_else(|fault| {
            faults.push(fault);
            Vec::new()
        });
        if faults.is_empty() { Ok(Self { matcher: matcher.build(), roots }) } else { Err(faults) }
    }

    /// A provider's.
    ///
    /// # Errors
    /// As [`Exits::new`].
    pub(crate) fn of(&self, provider: &ProviderConfig, to: &Uri) -> Result<Exit, ConfigFault> {
        let key = |key: &str| format!("providers.{}.{key}", provider.name);
        let proxy = match &provider.proxy {
            Some(Proxy::None) => None,
            Some(Proxy::At(address)) => Some(parsed(&key("proxy"), address.expose())?),
            None => self.to(to).proxy,
        };
        let own = trusted(&key("ca"), provider.ca.as_deref())?;
        Ok(Exit { proxy, roots: [&self.roots[..], &own[..]].concat() })
    }

    /// The one to an address that is no provider's.
    pub(crate) fn to(&self, to: &Uri) -> Exit {
        let proxy = self.matcher.intercept(to).map(|found| ProxyAddress {
            uri: found.uri().clone(),
            credentials: found.basic_auth().cloned(),
        });
        Exit { proxy, roots: self.roots.clone() }
    }
}

/// A proxy's address and the credentials in it, which no message repeats.
fn parsed(path: &str, address: &str) -> Result<ProxyAddress, ConfigFault> {
    let anywhere = Uri::from_static("https://example.com");
    let found = Matcher::builder().https(address.to_owned()).build().intercept(&anywhere);
    let found = found.filter(|found| matches!(found.uri().scheme_str(), Some("http" | "https")));
    let found = found.ok_or_else(|| ConfigFault {
        path: path.to_owned(),
        message: "is not the address of an HTTP proxy, such as http://proxy.example.com:3128"
            .into(),
        suggestion: None,
    })?;
    Ok(ProxyAddress { uri: found.uri().clone(), credentials: found.basic_auth().cloned() })
}

fn trusted(path: &str, file: Option<&str>) -> Result<Vec<CertificateDer<'static>>, ConfigFault> {
    let fault = |message| ConfigFault { path: path.to_owned(), message, suggestion: None };
    file.map_or_else(|| Ok(Vec::new()), |file| certificates(file).map_err(fault))
}

/// A variable of this process.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use pointsman_core::Config;

    use super::*;
    use crate::document::node;

    fn exits(egress: &str, environment: &[(&str, &str)]) -> Vec<Option<String>> {
        let text = format!(
            "{{ version: 1, {egress}providers: {{
                far: {{ protocol: openai, base_url: 'https://api.example.com/v1' }},
                near: {{ protocol: openai, base_url: 'http://10.0.0.7:8000/v1' }},
                here: {{ protocol: openai, base_url: 'https://127.0.0.1:1/v1' }},
                own: {{ protocol: openai, base_url: 'https://localhost:1/v1', proxy: 'http://own:1' }},
                free: {{ protocol: openai, base_url: 'https://example.org', proxy: none }} }},
              deployments: {{ d: {{ provider: far, model: m }} }},
              groups: {{ g: {{ members: [d] }} }} }}"
        );
        let lookup = |_: &_| Some("http://me:pass@secret:1".to_owned());
        let config = Config::load(&node(&text).unwrap(), &lookup).unwrap().config;
        let variable = |name: &str| {
            environment.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        };
        let exits = Exits::new(&config.egress, &variable).unwrap();
        let exit = |one: &ProviderConfig| {
            let to = one.base_url.as_ref().unwrap().parse().unwrap();
            let exit = exits.of(one, &to).unwrap();
            assert!(!format!("{exit:?}").contains("pass"), "{exit:?}");
            exit.proxy.map(|proxy| {
                let known = proxy.credentials.map_or("", |_| "me@");
                format!("{known}{}", proxy.uri.authority().unwrap())
            })
        };
        config.providers.iter().map(exit).collect()
    }

    #[test]
    fn the_nearest_word_holds_and_loopback_is_spared() {
        let some = |text: &str| Some(text.to_owned());
        let own = some("own:1");
        assert_eq!(exits("", &[]), [None, None, None, own.clone(), None]);
        let all = "egress: { proxy: 'http://all:1' }, ";
        let environment = [("HTTPS_PROXY", "http://env:1")];
        assert_eq!(
            exits(all, &environment),
            [some("all:1"), some("all:1"), None, own.clone(), None]
        );
        let but = "egress: { proxy: { env: X }, no_proxy: [10.0.0.0/8] }, ";
        assert_eq!(exits(but, &[]), [some("me@secret:1"), None, None, own.clone(), None]);
        assert_eq!(exits("", &environment), [some("env:1"), None, None, own.clone(), None]);
        let lower = [("https_proxy", "env:1"), ("no_proxy", ".example.com")];
        assert_eq!(exits("", &lower[..1]), [some("env:1"), None, None, own.clone(), None]);
        assert_eq!(exits("", &lower), [None, None, None, own.clone(), None]);
        assert_eq!(exits("egress: { proxy: none }, ", &environment), [None, None, None, own, None]);
        assert_eq!(
            exits("", &[("HTTP_PROXY", "http://env:1"), ("ALL_PROXY", "http://env:1")])[0],
            None
        );
    }

    #[test]
    fn a_proxy_of_the_environment_that_cannot_be_used_is_told() {
        for address in ["socks5://me:pass@proxy:1", "http://me:pass@", "::"] {
            let variable = |name: &str| (name == "HTTPS_PROXY").then(|| address.to_owned());
            let faults = Exits::new(&Egress::default(), &variable).unwrap_err();
            let told = faults[0].to_string();
            assert!(told.starts_with("HTTPS_PROXY: ") && told.contains("proxy: none"), "{told}");
            assert!(!told.contains("pass"), "{told}");
        }
    }
}
