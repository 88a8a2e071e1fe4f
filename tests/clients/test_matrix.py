"""Every client protocol in front of every provider protocol, through `pointsman serve`."""

import os
import unittest

import answers
import cases
import fields
import matrix
import providers


class Pairs(unittest.TestCase):
    def test_every_client_is_understood_by_every_provider(self):
        for protocol, provider in matrix.pairs():
            if matrix.speaks(protocol, provider):
                pair = matrix.Pair(self, provider)
                for client in matrix.CLIENTS[protocol]:
                    self.converse(pair, protocol, provider, client)

    def test_what_is_not_spoken_yet_is_not(self):
        for protocol, provider in matrix.pairs():
            if matrix.speaks(protocol, provider):
                continue
            with self.subTest(client=protocol, provider=provider):
                pair = matrix.Pair(self, provider)
                with self.assertRaises(Exception, msg="take it off not_yet.json"):
                    for client in matrix.CLIENTS[protocol]:
                        self.converse_strictly(pair, client)

    def converse(self, pair, protocol, provider, client):
        speaker = client(pair.gateway.address, "chat")
        self.addCleanup(speaker.close)
        for case, stream, name in cases.runs():
            with self.subTest(client=client, provider=provider, case=name):
                pair.mock.play(cases.SCRIPT)
                case(self, speaker, pair.mock, stream=stream)

    def converse_strictly(self, pair, client):
        """As above, but the first failure is raised."""
        speaker = client(pair.gateway.address, "chat")
        self.addCleanup(speaker.close)
        for case, stream, _ in cases.runs():
            pair.mock.play(cases.SCRIPT)
            case(self, speaker, pair.mock, stream=stream)


class Page(unittest.TestCase):
    # What differs is to be read.
    maxDiff = None

    def test_the_page_is_what_was_found(self):
        found = matrix.page(self.members(), self.answers())
        if os.environ.get("UPDATE_GOLDEN"):
            matrix.PAGE.parent.mkdir(exist_ok=True)
            matrix.PAGE.write_text(found, "utf-8")
        self.assertEqual(matrix.PAGE.read_text("utf-8"), found)

    def answers(self):
        found = {}
        for protocol, provider in matrix.pairs():
            if not matrix.speaks(protocol, provider):
                continue
            pair = matrix.Pair(self, provider)
            own = provider in matrix.OWN[protocol]
            speaker = matrix.CLIENTS[protocol][0](pair.gateway.address, "chat")
            self.addCleanup(speaker.close)
            for name, check in answers.CHECKS[protocol].items():
                pair.mock.play(answers.SCRIPTS.get(name, cases.SCRIPT))
                with self.subTest(client=protocol, provider=provider, answer=name):
                    became = answers.outcome(self, pair, own, speaker, check)
                    found[protocol, name, provider] = became
                    if own:
                        self.assertEqual(became, "kept")
        return found

    def members(self):
        members = {}
        for protocol, provider in matrix.pairs():
            if not matrix.speaks(protocol, provider):
                continue
            pair = matrix.Pair(self, provider)
            for name, member in fields.PROTOCOLS[protocol][2].items():
                with self.subTest(client=protocol, provider=provider, member=name):
                    became = matrix.outcome(pair, protocol, provider, member)
                    members[protocol, name, provider] = became
                    self.assertNotIn("DROPPED", became)
                    self.assertNotIn("CHANGED", became)
        return members


class Checks(unittest.TestCase):
    """The checks of what providers take do find what they would refuse."""

    PLAIN = {
        "openai": {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]},
        "anthropic": {
            "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}],
        },
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
        "bedrock": {"messages": [{"role": "user", "content": [{"text": "Hello?"}]}]},
    }

    def test_an_unknown_member_is_found(self):
        for provider, plain in self.PLAIN.items():
            providers.check(provider, "", plain)
            conversation = next(name for name in plain if isinstance(plain[name], list))
            turn = {**plain[conversation][0], "mood": "good"}
            for faulty in ({**plain, "mood": "good"}, {**plain, conversation: [turn]}):
                with self.subTest(provider, faulty=faulty), self.assertRaises(Exception):
                    providers.check(provider, "", faulty)


class Bytes(unittest.TestCase):
    """Between a client and a provider of the same protocol only the model's name differs."""

    # Odd spaces, an order of its own, escapes, big and odd numbers, a member twice, unknown members.
    ODD = (
        b'{ "zeta" :{"b":1,"a":[ ]},\n\t"top" : 123456789012345678901234567890, "odd":1.0e+5 ,"again":1,'
        b'"again" : 2, "escaped":"H\\u00e9llo \\ud83d\\ude00 \\/ \\"", "said":"H\xc3\xa9 \xf0\x9f\x98\x80",'
    )
    TAILS = {
        "chat": b' "messages":[ {"content":"Hello?" , "role":"user", "x":null} ], "model" :"chat" }',
        "responses": b' "input":[ {"content":"Hello?" , "role":"user", "x":null} ], "model" :"chat",'
                     b'"store":false }',
        "messages": b' "messages":[ {"content":"Hello?" , "role":"user", "x":null} ], "model" :"chat",'
                    b'"max_tokens" : 100 }',
        "gemini": b' "contents":[ {"parts":[{"text":"Hello?" }] , "role":"user", "x":null} ] }',
    }
    STREAMS = {
        "chat": b'"stream" : true,"stream_options":{ "include_usage":true }, ',
        "responses": b'"stream" : true, ',
        "messages": b'"stream" : true, ',
        "gemini": b"",
    }
    STREAM_PATHS = {"gemini": "/v1beta/models/chat:streamGenerateContent?alt=sse"}

    def test_requests_and_answers_are_kept(self):
        for protocol, provider in matrix.pairs():
            if provider not in matrix.OWN[protocol] or not matrix.speaks(protocol, provider):
                continue
            for stream in (False, True):
                with self.subTest(client=protocol, provider=provider, stream=stream):
                    self.exchange(protocol, provider, stream)

    def exchange(self, protocol, provider, stream):
        pair = matrix.Pair(self, provider)
        path = fields.PROTOCOLS[protocol][0]
        extra = self.STREAMS[protocol] if stream else b""
        if stream:
            path = self.STREAM_PATHS.get(protocol, path)
        body = self.ODD + extra + self.TAILS[protocol]
        status, headers, answer = matrix.post(pair.gateway.address + path, body)
        self.assertEqual(status, 200, answer)
        sent = pair.mock.body()
        self.assertEqual(sent, body.replace(b'"chat"', b'"%s"' % matrix.MODEL.encode()))
        # The same straight from the provider.
        request = pair.mock.requests()[-1]
        query = f"?{request['query']}" if request["query"] else ""
        given = {name: value for name, value in request["headers"] if name != "content-length"}
        url = pair.mock.address + request["path"] + query
        direct_status, direct_headers, direct = matrix.post(url, sent, given)
        self.assertEqual((direct_status, direct), (status, answer))
        self.assertEqual(direct_headers["content-type"], headers["content-type"])


if __name__ == "__main__":
    unittest.main()
