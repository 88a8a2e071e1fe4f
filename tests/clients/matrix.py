"""Every client protocol in front of every provider protocol: the pairs, and the page about them."""

import copy
import json
import urllib.error
import urllib.request

import answers
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
    # What the answer lost is another matter.
    paths = (headers[LOST] or "").split(", ")
    lost = "lost" if any(path and not path.startswith("answer.") for path in paths) else ""
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

HOLDS = """\
## What answers hold

What an answer may hold beside one text, asked for by OpenAI's, Anthropic's and Google's own clients in Python, plain and
streamed. *Lost*: it answers without, and `x-pointsman-lost` says so. *Refused*: a 400 names what the provider's protocol has no place for, and nobody is asked.
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


SEARCHES = """\
## Searches of the web

A search that the provider makes itself is asked for in each protocol's own way, and what the protocols share of
it (a place, a number, domains) is said where the target has it. Where it has not, hints are *lost*, and
domains, which are a restriction, make the target *refuse*. Gemini takes a search, or functions, not both. Bedrock
has one for Amazon's own models (`nova_grounding`). In chat completions `web_search_options` is said to OpenAI's
models of search, and to a deployment that `supports: { web_search: true }` at a provider like OpenAI: others
would leave the member out and answer all the same.

The steps of a search are told in the client's protocol: `web_search_call` items, `server_tool_use` with
`web_search_tool_result`, `groundingMetadata`. Chat completions show only what rests on it, as `annotations`. Citations keep their places
in the text, counted as the protocol counts them (characters; bytes in Gemini's); Anthropic's say by the text block they stand with what rests
on them, so that a text is cut into blocks there. Who streams from Gemini is told of the search at the end,
because Gemini tells it there.

## What was another provider's

Signed and hidden thoughts, signed calls, and the results of searches can be read by who made them alone. Sent
back by the client, they go to that provider's protocol, and are *lost* towards others: Anthropic's thoughts go to Claude on Bedrock too, and to
no other model there. What we made for a client out of another provider's answer, its own protocol's provider would
refuse: thoughts without a signature, searches and citations without Anthropic's mark, reasoning items that OpenAI
does not keep. It is cut out before such a provider is asked, and named in `x-pointsman-lost`. Encrypted reasoning of OpenAI's goes on
to Azure, and the other way round, as it came: nothing in it says whose it is.
"""

ANSWERS = """\
## What answers lose

What the client's protocol cannot hold of a whole answer is named in `x-pointsman-lost` too, behind what the
request lost. The head of a stream is sent before that is known: the line of the call in the log and its usage
record have all of it. An answer with a thought, a search and what rests on it loses:
"""


def losses(provider, client):
    """What the answer of the transcripts lost: see wire/tests/search.rs."""
    golden = rig.ROOT / "wire/tests/golden/search"
    transcript = golden / f"{provider}.answer.{client}"
    if not transcript.exists():
        return "kept"
    lines = transcript.read_text("utf-8").splitlines()
    return ", ".join(f"`{line[6:]}`" for line in lines if line.startswith("lost: ")) or "nothing"


def page(members, found_answers):
    """The page: what became of members and answers, by protocol, name and provider."""
    lines = [INTRODUCTION, row("client", *PROVIDERS), row(*["---"] * (1 + len(PROVIDERS)))]
    for protocol, title in TITLES.items():
        lines.append(row(title, *(cell(protocol, provider) for provider in PROVIDERS)))
    lines += ["", HOLDS, row("client", "answer", *PROVIDERS)]
    lines.append(row(*["---"] * (2 + len(PROVIDERS))))
    for protocol, title in TITLES.items():
        for name in answers.CHECKS[protocol]:
            found = [found_answers.get((protocol, name, provider), "–") for provider in PROVIDERS]
            lines.append(row(title, name, *found))
    lines += ["", FIELDS]
    for protocol, title in TITLES.items():
        lines += [f"### {title}", "", row("member", *PROVIDERS)]
        lines.append(row(*["---"] * (1 + len(PROVIDERS))))
        for name in fields.PROTOCOLS[protocol][2]:
            found = [members.get((protocol, name, provider), "–") for provider in PROVIDERS]
            lines.append(row(name, *found))
        lines.append("")
    clients = {"chat": "chat", "responses": "responses", "messages": "messages", "gemini": "generate"}
    lines += [SEARCHES, ANSWERS, row("provider", *TITLES.values())]
    lines.append(row(*["---"] * (1 + len(TITLES))))
    for provider in ["openai", "anthropic", "gemini", "bedrock"]:
        lines.append(row(provider, *(losses(provider, clients[client]) for client in TITLES)))
    return "\n".join(lines).rstrip() + "\n"


def cell(protocol, provider):
    if not speaks(protocol, provider):
        return "not yet"
    return "kept" if provider in OWN[protocol] else "converted"


def row(*cells):
    return f"| {' | '.join(cells)} |"
