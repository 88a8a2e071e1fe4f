//! Faulty documents: every fault, its place and what was probably meant.

use super::{EXAMPLE, load, load_more};
use crate::config::{Config, ConfigFault, Loaded, SecretRef, yaml_node};
use crate::id::DeploymentId;

#[test]
fn five_faults_are_five() {
    let faulty = EXAMPLE
        .replace("server:\n", "server:\n  max_boddy: 1MiB\n")
        .replace("{ deployment: gpt4o-eu,", "{ deployment: gpt4o-ue,")
        .replace("max_attempts: 4", "max_attempts: 40")
        .replace("longest_wait: 20s", "longest_wait: 20")
        .replace("team: growth\n", "team: growht\n");
    assert_eq!(
        load(&faulty).unwrap_err(),
        [
            "server.max_boddy: unknown key `max_boddy` (did you mean `max_body`?)",
            "groups.gpt-4o.members[1].deployment: unknown deployment `gpt4o-ue` \
             (did you mean `gpt4o-eu`?)",
            "policy.retry.max_attempts: must be from 1 to 16, not 40",
            "policy.retry.longest_wait: `20` has no unit: write `20s`, or use ms, m, h or d",
            "callers.keys.growth-app.team: unknown team `growht` (did you mean `growth`?)",
        ]
    );
}

#[test]
fn single_models_are_only_behind_a_deployment_for_any() {
    let faults = load(
        "version: 1
providers: { p: { protocol: openai } }
deployments:
  fixed: { provider: p, model: m, models: { n: {} } }
  any: { provider: p, model: '*', models: { '*': {}, m: { price: { input: 1 }, window: 5 }, n: 3 } }
groups: { g: { members: [fixed, any] } }",
    );
    assert_eq!(
        faults.unwrap_err(),
        [
            "deployments.fixed.models: single models are only behind `model: \"*\"`: say it of the deployment itself",
            "deployments.any.models.*: is no model: what holds for all is said of the deployment itself",
            "deployments.any.models.m.price.output: is missing",
            "deployments.any.models.m.window: unknown key `window`; known here: supports, price",
            "deployments.any.models.n: expected a map, found a whole number",
        ]
    );
}

#[test]
fn references_to_nothing_are_found_wherever_they_stand() {
    let faults = load_more(
        "groups: { g: { members: [a, x], fallbacks: [g, h, h, hh], context_fallbacks: [no] }, h: { members: [b, b] } }
aliases: { one: gg, two: three, three: two, five: two, g: h, '*': g }
default_fallbacks: [gone]
unmatched: nowhere
routes: [ { name: r, match: { model: '*' }, group: lost } ]
callers: { anonymous: nobody, keys: { k: { sha256: abc, groups: [zz] } } }",
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "groups.g.members[1]: unknown deployment `x`; known here: a, b, c",
            "groups.g.fallbacks[0]: is the group itself",
            "groups.g.fallbacks[2]: is listed twice",
            "groups.g.fallbacks[3]: unknown group `hh` (did you mean `h`?)",
            "groups.g.context_fallbacks[0]: unknown group `no`; known here: g, h, *, five, one, three, two",
            "groups.h.members[1]: `b` is a member of this group already",
            "aliases.one: unknown group `gg` (did you mean `g`?)",
            "aliases.two: leads back to itself: two -> three -> two",
            "aliases.g: has the name of a group",
            "aliases.*: is a pattern: only a group's name may hold a `*`",
            "default_fallbacks[0]: unknown group `gone` (did you mean `one`?)",
            "unmatched: unknown group `nowhere`; known here: g, h, *, five, one, three, two",
            "routes[0].group: unknown group `lost`; known here: g, h, *, five, one, three, two",
            "callers.anonymous: unknown key `nobody`; known here: k",
            "callers.keys.k.sha256: is not a SHA-256: 64 hexadecimal digits",
            "callers.keys.k.groups[0]: unknown group `zz`; known here: g, h, *, five, one, three, two",
        ]
    );
}

#[test]
fn keys_without_a_meaning_where_they_stand_say_where_they_belong() {
    let faults = load(
        "version: 2
providers: { z: { protocol: azure }, o: { protocol: openai, mock: {}, base_url: 'http://u:hunter2@h/' } }
deployments:
  d: { provider: z, model: m, retry: { max_attempts: 2 }, timeouts: { deadline: 1s }, limits: { tokens_per_minute: 200_000M } }
groups:
  g: { members: [ { deployment: d, weight: -1 } ], retry: { budget: { burst: 1 } }, breaker: { open: 1m }, strategy: fastest }
  'a*b*': { members: [] }",
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "version: must be 1: this program knows no version 2",
            "providers.z: needs a `base_url`: every Azure resource has its own",
            "providers.o.mock: belongs to `protocol: mock`, not `openai`",
            "providers.o.base_url: must not carry credentials; use `api_key` or `headers`",
            "deployments.d.retry.max_attempts: is about a whole call: set it in `policy` or on a group",
            "deployments.d.timeouts.deadline: is about a whole call: set it in `policy` or on a group",
            "deployments.d.limits.tokens_per_minute: must be from 0 to 100000000000, not 200000000000",
            "groups.g.members[0].weight: `-1` is negative",
            "groups.g.retry.budget: is one for all groups: set it in `policy`",
            "groups.g.strategy: unknown strategy `fastest`",
            "groups.g.breaker: has an `open` above its `max_open`",
            "groups.a*b*: has more than one `*`",
            "groups.a*b*.members: is empty: a group needs a member",
        ]
    );
}

#[test]
fn an_absent_optional_key_blocks_and_an_absent_needed_one_is_a_fault() {
    let yaml = |optional| {
        format!(
            "version: 1
providers: {{ p: {{ protocol: openai, api_key: {{ env: OPENAI_API_KEY{optional} }} }} }}
deployments: {{ d: {{ provider: p, model: m }} }}
groups: {{ g: {{ members: [d] }} }}"
        )
    };
    let nothing = |_: &SecretRef| None;
    let loaded = Config::load(&yaml_node(&yaml(", optional: true")), &nothing).unwrap();
    let deployment = loaded.catalog.deployment(DeploymentId(0));
    assert_eq!(deployment.blocked.as_deref(), Some("no api_key: set OPENAI_API_KEY"));
    assert_eq!(loaded.warnings[0].name, "provider_blocked");
    let faults = Config::load(&yaml_node(&yaml("")), &nothing).unwrap_err();
    assert_eq!(faults[0].path, "providers.p.api_key");
    assert_eq!(faults.len(), 1);
}

#[test]
fn an_address_that_nobody_can_call_is_a_fault() {
    let fault = |address: &str| {
        let text = format!(
            "version: 1\nproviders: {{ p: {{ protocol: openai, base_url: '{address}' }} }}"
        );
        load(&text).err().unwrap_or_default().concat()
    };
    for address in [
        "http://h:99999/v1",
        "http://h:/v1",
        "http://[::1/v1",
        "http://[::g]/v1",
        "http://[::1]x/v1",
        "http://:80/v1",
    ] {
        assert!(fault(address).contains("is not an address"), "{address}: {}", fault(address));
    }
    for address in ["http://[::1]:9/v1", "http://[::1]/v1", "https://h.example:65535", "http://h/"]
    {
        assert_eq!(fault(address), "", "{address}");
    }
    for address in ["https://h/v1?key=hunter2", "https://h#hunter2"] {
        assert!(fault(address).contains("must end with its path"), "{}", fault(address));
        assert!(!fault(address).contains("hunter2"), "{}", fault(address));
    }
}

#[test]
fn what_cannot_stand_in_a_header_is_a_fault_that_does_not_repeat_it() {
    let text = "version: 1
providers:
  p:
    protocol: openai
    api_key: { env: KEY }
    headers: { x-a: { env: KEY }, x-b: \"caf\u{e9}\", Host: h, content-length: '5' }";
    let node = yaml_node(text);
    let faults =
        Config::load(&node, &|_| Some("hunter2\nhunter3".to_owned())).err().unwrap_or_default();
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "providers.p.api_key: environment variable `KEY` holds a character that no header may: \
             use printable ASCII",
            "providers.p.headers.x-a: environment variable `KEY` holds a character that no header \
             may: use printable ASCII",
            "providers.p.headers.x-b: holds a character that no header may: use printable ASCII",
            "providers.p.headers.Host: is for whoever sends the request to set; leave it out",
            "providers.p.headers.content-length: is for whoever sends the request to set; leave it \
             out",
        ]
    );
}

#[test]
fn only_headers_that_may_be_written_down_are_looked_at() {
    let faults = load(
        "version: 1
providers: { p: { protocol: mock, headers: { 'a b': c } } }
deployments: { d: { provider: p, model: m } }
groups: { g: { members: [d] } }
routes: [ { name: r, match: { headers: { 'x y': v, Cookie: v } }, group: g } ]
metering:
  usage_log: u
  labels: [x-app, X-App, 'x-a b', '☃', Authorization, proxy-authorization, cookie, X-Api-Key, api-key,
    x-goog-api-key]",
    )
    .unwrap_err();
    let mut wanted = vec![
        "providers.p.headers[\"a b\"]: is not the name of a header".to_owned(),
        "routes[0].match.headers[\"x y\"]: is not the name of a header".to_owned(),
        "routes[0].match.headers.Cookie: is a credential: match a `key` instead".to_owned(),
        "metering.labels[1]: stands here twice: case makes no other header".to_owned(),
    ];
    let name = |at| format!("metering.labels[{at}]: is not the name of a header");
    wanted.extend([2, 3].map(name));
    let secret =
        |at| format!("metering.labels[{at}]: is a credential, which is never written down");
    wanted.extend([4, 5, 6, 7, 8, 9].map(secret));
    assert_eq!(faults, wanted);
}

/// What is said of one Bedrock provider when only the variable `KEY` is set.
fn bedrock(members: &str) -> Result<Loaded, Vec<String>> {
    let yaml = format!(
        "version: 1
providers: {{ p: {{ protocol: bedrock, {members} }} }}
deployments: {{ d: {{ provider: p, model: m }} }}
groups: {{ g: {{ members: [d] }} }}"
    );
    let key = SecretRef::Env("KEY".into());
    let lookup = |wanted: &SecretRef| (*wanted == key).then(|| "hunter2".to_owned());
    let loaded = Config::load(&yaml_node(&yaml), &lookup);
    loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

#[test]
fn bedrock_wants_a_region_and_one_kind_of_key() {
    let keys = "access_key_id: { env: KEY }, secret_access_key: { env: KEY }";
    for (members, fault) in [
        ("api_key: { env: KEY }".to_owned(), "providers.p: needs a `region`"),
        ("region: eu/x".to_owned(), "providers.p.region: is no region of Amazon's"),
        (format!("region: a, credentials: {{ {keys} }}, api_key: {{ env: KEY }}"), "has both"),
        ("region: a, credentials: { access_key_id: { env: KEY } }".to_owned(), "is missing"),
        (format!("region: a, credentials: {{ {keys}, more: 1 }}"), "unknown key `more`"),
        (
            "region: a, credentials: { access_key_id: { env: KEY, optional: true },
              secret_access_key: { env: KEY } }"
                .to_owned(),
            "providers.p.credentials: must have both keys `optional: true`, or neither",
        ),
        (
            "region: a, credentials: { access_key_id: hunter2, secret_access_key: { env: KEY } }"
                .to_owned(),
            "never the secret itself",
        ),
    ] {
        let faults = bedrock(&members).unwrap_err();
        assert!(faults.len() == 1 && faults[0].contains(fault), "{members}: {faults:?}");
        assert!(!faults[0].contains("hunter2"), "{faults:?}");
    }
    let without = bedrock("region: us-east-1").unwrap();
    assert_eq!(without.warnings[0].name, "no_credentials");
    assert_eq!(bedrock("region: us-east-1, base_url: 'https://vpc'").unwrap().warnings, []);
    let loaded = bedrock(&format!("region: us-east-1, credentials: {{ {keys} }}")).unwrap();
    assert_eq!(loaded.warnings, []);
    let credentials = loaded.config.providers[0].credentials.as_ref().unwrap();
    assert_eq!(credentials.access_key_id.expose(), "hunter2");
    assert!(!format!("{credentials:?}").contains("hunter2"));
    let other = yaml_node("version: 1\nproviders: { p: { protocol: openai, credentials: {} } }");
    let faults = Config::load(&other, &|_| None).err().unwrap_or_default();
    let belongs =
        |fault: &ConfigFault| fault.to_string().contains("belongs to `protocol: bedrock`");
    assert!(faults.iter().any(belongs), "{faults:?}");
}

#[test]
fn absent_optional_credentials_block_and_an_absent_token_does_not() {
    let absent = "{ env: NONE, optional: true }";
    let keys = |key| format!("access_key_id: {key}, secret_access_key: {key}");
    let loaded = bedrock(&format!("region: a, credentials: {{ {} }}", keys(absent))).unwrap();
    let deployment = loaded.catalog.deployment(DeploymentId(0));
    assert_eq!(deployment.blocked.as_deref(), Some("no credentials: set NONE"));
    let there = keys("{ env: KEY }");
    let members = format!("region: a, credentials: {{ {there}, session_token: {absent} }}");
    let loaded = bedrock(&members).unwrap();
    assert_eq!(loaded.catalog.deployment(DeploymentId(0)).blocked, None);
    assert_eq!(loaded.config.providers[0].credentials.as_ref().unwrap().session_token, None);
}

#[test]
fn parameters_of_the_wrong_type_are_told_before_a_provider_tells() {
    let faults = load_more(
        "groups:
  g:
    members:
      - deployment: a
        params:
          set: { temperature: warm, maxOutputTokens: 0, stop: [1], n: 1.5, user: 7, seed: '1', logit_bias: [] }
          default: { reasoning_effort: hard, stop_sequences: x, top_k: 0.5 }
          drop: [user, 5, stream, messages]
      - deployment: b
        params: { set: { max_tokens: 5, max_completion_tokens: 6, model: x, a..b: 1, stream.x: 1, input: hi }, default: { top_p: 1, topP: 1, x.y: {} } }",
    )
    .unwrap_err();
    assert_eq!(
        faults,
        [
            "groups.g.members[0].params: both drops and sets `user`",
            "groups.g.members[0].params.set.temperature: must be a number",
            "groups.g.members[0].params.set.maxOutputTokens: must be a whole number from 1 on",
            "groups.g.members[0].params.set.stop: must be text or a list of texts",
            "groups.g.members[0].params.set.n: must be a whole number from 1 on",
            "groups.g.members[0].params.set.user: must be text",
            "groups.g.members[0].params.set.seed: must be a whole number",
            "groups.g.members[0].params.set.logit_bias: must be a map from tokens to numbers",
            "groups.g.members[0].params.default.reasoning_effort: must be one of none, minimal, low, medium, high, xhigh, max",
            "groups.g.members[0].params.default.top_k: must be a whole number",
            "groups.g.members[0].params.drop[1]: expected text (quote it), found a whole number",
            "groups.g.members[0].params.drop[2]: `stream` is no parameter: the request decides it, or the deployment",
            "groups.g.members[0].params.drop[3]: `messages` is no parameter: it is what the client says to the model",
            "groups.g.members[1].params: `default` has `top_p` under two names",
            "groups.g.members[1].params: `set` has `max_tokens` under two names",
            "groups.g.members[1].params.set.model: `model` is no parameter: the request decides it, or the deployment",
            "groups.g.members[1].params.set[\"a..b\"]: is neither a name nor a path of names with dots between",
            "groups.g.members[1].params.set[\"stream.x\"]: `stream` is no parameter: the request decides it, or the deployment",
            "groups.g.members[1].params.set.input: `input` is no parameter: it is what the client says to the model",
        ]
    );
}
