"""Every client protocol in front of every provider protocol: the pairs, and the page about them."""

import copy
import json
import urllib.error
import urllib.request

import cases
import fields
import langchain_speakers
import providers
import rig
import speakers

# By client protocol: the clients that speak it.
CLIENTS = {
    "chat": [speakers.Chat, langchain_speakers.Chat],
    "responses": [speakers.Responses],
    "messages": [speakers.Messages, langchain_speakers.Messages],
    "gemini": [speakers.Gemini],
}
TITLES = {
    "chat": "OpenAI chat completions",
    "responses": "OpenAI responses",
    "messages": "Anthropic messages",
    "gemini": "Gemini generateContent",
}
PROVIDERS = ["openai", "azure", "anthropic", "gemini", "bedrock"]
# Providers that speak the client's own protocol. `openai` is one that is like OpenAI: it may know chat
# completions only.
OWN = {
    "chat": ["openai", "azure"],
    "responses": ["azure"],
    "messages": ["anthropic"],
    "gemini": ["gemini"],
}
# Pairs that the gateway does not speak yet.
NOT_YET = json.loads((rig.ROOT / "tests/clients/not_yet.json").read_text("utf-8"))

PAGE = rig.ROOT / "docs/protocols.md"
MODEL = "model-east"
LOST = "x-pointsman-lost"


def pairs():
    return [(protocol, provider) for protocol in CLIENTS for provider in PROVIDERS]


def speaks(protocol, provider):
    return provider not in NOT_YET[protocol]


class Pair:
    """A gateway in front of one mock upstream called `east` that speaks as this provider does."""

    def __init__(self, test, provider):
        self.mock = rig.Mock(test, "east", cases.SCRIPT)
        self.gateway = rig.Gateway(test, {
            "version": 1,
            "providers": {"east": rig.provider(provider, self.mock.address)},
            "deployments": {"east": {"provider": "east", "model": MODEL}},
            "groups": {"chat": {"members": ["east"]}},
            "policy": {"retry": {"max_attempts": 1}},
        })


def post(url, body, headers=None):
    """Status, headers, and the exact body of the answer."""
    headers = {"content-type": "application/json", "authorization": "Bearer any", **(headers or {})}
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=rig.PATIENCE) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


# --- what becomes of a member of a request


def outcome(pair, protocol, provider, member):
    """What becomes of a member, in the words of the page."""
    path, plain, _ = fields.PROTOCOLS[protocol]
    url = pair.gateway.address + path
    without = copy.deepcopy(plain)
    member.base(without)
    body = copy.deepcopy(without)
    member.add(body)
    before = pair.mock.seen()["requests"]
    status, headers, answer = post(url, json.dumps(body).encode())
    reached = pair.mock.seen()["requests"] > before
    if status == 400 and not reached:
        return "refused"
    if status != 200:
        raise AssertionError(f"{status}: {answer.decode()}")
    got = json.loads(pair.mock.body())
    if provider in OWN[protocol]:
        expected = {**body, "model": MODEL} if "model" in body else body
        return "kept" if got == expected else "CHANGED: " + told(expected, got)
    providers.check(provider, pair.mock.requests()[-1]["path"], got)
    post(url, json.dumps(without).encode())
    written = told(json.loads(pair.mock.body()), got)
    lost = "lost" if headers[LOST] else ""
    return ", ".join(filter(None, [written, lost])) or "DROPPED"


def told(base, got):
    """The members in which `got` differs from `base`: text is not worth telling if there is more."""
    found = list(dict.fromkeys(differences(base, got, "")))
    found = [path for path in found if not path.endswith(".text")] or found
    return ", ".join(f"`{path}`" for path in found[:3]) + (", …" if len(found) > 3 else "")


# Below these everything is the client's own.
OPAQUE = {
    "schema", "parameters", "input_schema", "json", "args", "arguments", "input", "inputSchema",
    "parametersJsonSchema", "responseJsonSchema", "responseSchema", "source", "image_url",
    "json_schema", "function", "inlineData", "fileData", "toolSpec", "functionDeclarations",
}
# Members that every element has.
COMMON = {"role", "type", "text"}


def differences(base, got, path):
    if base == got:
        return
    if isinstance(got, dict) and got:
        base = base if isinstance(base, dict) else {}
        named = [name for name in got if name not in COMMON]
        named = named or [name for name in ("text", "type") if name in got][:1]
        for name in named:
            inner = f"{path}.{name}".lstrip(".")
            if name in OPAQUE and got.get(name) != base.get(name):
                yield inner
            else:
                yield from differences(base.get(name), got[name], inner)
        yield from (f"no {path}.{name}".replace(" .", " ") for name in base if name not in got)
    elif isinstance(got, list) and any(isinstance(element, dict) for element in got):
        base = base if isinstance(base, list) else []
        for element in got:
            if element not in base:
                yield from differences(None, element, f"{path}[]")
    else:
        yield path


# --- the page

INTRODUCTION = """\
# Protocols: what each pair keeps, converts and refuses

Every client protocol can be put in front of every provider protocol. This page is what the tests in
[tests/clients](../tests/clients/test_matrix.py) found: they fail if it is not, and write it anew with
`UPDATE_GOLDEN=1 python -m unittest test_matrix`.

## Clients and providers

Real clients ask every question plain and streamed: OpenAI's and Anthropic's in Python and JavaScript,
Google's in Python, the Vercel AI SDK, and LangChain. The questions: text with usage and finish reason; two
tools called at once, and their results; an image; JSON by a schema; reasoning; a bad request, which comes
back in the provider's words; a stream that breaks, which never looks whole.

`openai` is any provider like OpenAI, under a base URL of its own: it may know chat completions only, so that
is what responses become. OpenAI itself gets them as they are, as Azure does.

*Kept*: the provider speaks the client's protocol and gets its bytes, and the answer comes back byte for
byte. *Converted*: the request is said in the provider's protocol, and the answer in the client's.
"""

FIELDS = """\
## Members of requests

One member at a time is added to a plain request. The cell says what the provider is sent for it:

- *kept*: the member as it came;
- a path: where it is written in the provider's protocol;
- *lost*: left out, and named in the header `x-pointsman-lost` of the answer;
- *refused*: the provider's protocol has no place for it and the answer would be another without it. The
  target is passed over; if none is left, the client gets a 400 that names the member.
"""


def page(members):
    """The page; `members` is what became of them, by protocol, name and provider."""
    lines = [INTRODUCTION, row("client", *PROVIDERS), row(*["---"] * (1 + len(PROVIDERS)))]
    for protocol, title in TITLES.items():
        lines.append(row(title, *(cell(protocol, provider) for provider in PROVIDERS)))
    lines += ["", FIELDS]
    for protocol, title in TITLES.items():
        lines += [f"### {title}", "", row("member", *PROVIDERS)]
        lines.append(row(*["---"] * (1 + len(PROVIDERS))))
        for name in fields.PROTOCOLS[protocol][2]:
            found = [members.get((protocol, name, provider), "–") for provider in PROVIDERS]
            lines.append(row(name, *found))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def cell(protocol, provider):
    if not speaks(protocol, provider):
        return "not yet"
    return "kept" if provider in OWN[protocol] else "converted"


def row(*cells):
    return f"| {' | '.join(cells)} |"
