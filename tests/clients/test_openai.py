"""OpenAI's own Python client against `pointsman serve` in front of two mock upstreams."""

import asyncio
import json
import unittest

import httpx
import openai

import rig

ASK = {"model": "chat", "messages": [{"role": "user", "content": "Hello?"}]}
EAST = [{"ok": {"text": "Hello from the east.", "output_tokens": 4}}]
WEST = [{"ok": {"text": "Hello from the west.", "output_tokens": 4}}]
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather: 5 °C, \"rain\" …",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class ClientTest(unittest.TestCase):
    """Two upstreams, of which `west` is the spare, and a client that never retries by itself."""

    def start(self, east=EAST, west=WEST, policy=None):
        self.east, self.west = rig.Mock(self, "east", east), rig.Mock(self, "west", west)
        self.connect({"east": self.east, "west": self.west}, policy)

    def connect(self, upstreams, policy=None):
        self.gateway = rig.Gateway(self, rig.failover(upstreams, policy))
        self.client = openai.OpenAI(
            api_key="any", base_url=self.gateway.base_url, max_retries=0, timeout=30
        )
        self.addCleanup(self.client.close)

    def create(self, **more):
        """Asks; returns the headers and the parsed answer, or the stream of its chunks."""
        answer = self.client.chat.completions.with_raw_response.create(**{**ASK, **more})
        return answer.headers, answer.parse()

    def assert_served_by(self, headers, deployment, attempts):
        self.assertEqual(headers["x-pointsman-group"], "chat")
        self.assertEqual(headers["x-pointsman-deployment"], deployment)
        self.assertEqual(headers["x-pointsman-attempts"], str(attempts))
        self.assertEqual(headers["x-pointsman-fallbacks"], "0")

    def assert_asked(self, east, west):
        self.assertEqual(self.east.seen()["requests"], east)
        self.assertEqual(self.west.seen()["requests"], west)


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


class Answers(ClientTest):
    def test_a_whole_answer(self):
        self.start()
        headers, answer = self.create()
        self.assert_served_by(headers, "east", 1)
        self.assertEqual(answer.choices[0].message.content, "Hello from the east.")
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.model, "model-east")
        self.assertEqual(answer.usage.completion_tokens, 4)
        self.assert_asked(1, 0)

    def test_a_stream(self):
        self.start()
        headers, chunks = self.create(stream=True)
        chunks = list(chunks)
        self.assert_served_by(headers, "east", 1)
        self.assertEqual(text_of(chunks), "Hello from the east.")
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")

    def test_the_clients_own_stream_helper(self):
        self.start()
        with self.client.chat.completions.stream(**ASK) as stream:
            answer = stream.get_final_completion()
        self.assertEqual(answer.choices[0].message.content, "Hello from the east.")

    def test_usage_is_there_when_asked_for_and_only_then(self):
        self.start()
        for options, usages in [({}, []), ({"stream_options": {"include_usage": True}}, [4])]:
            with self.subTest(options=options):
                _, chunks = self.create(stream=True, **options)
                usages_got = [chunk.usage.completion_tokens for chunk in chunks if chunk.usage]
                self.assertEqual(usages_got, usages)

    def test_a_whole_answer_may_take_longer_than_a_first_token(self):
        timeouts = {"first_token": "200ms", "answer": "20s"}
        self.start(east=[{"ok": {"total": "1s", "text": "At last."}}], policy={"timeouts": timeouts})
        headers, answer = self.create()
        self.assert_served_by(headers, "east", 1)
        self.assertIn("At last.", answer.choices[0].message.content)

    def test_the_models_are_the_groups(self):
        self.start()
        self.assertEqual([model.id for model in self.client.models.list()], ["chat"])
        self.assertEqual(self.client.models.retrieve("chat").id, "chat")

    def test_the_upstreams_key_is_sent_to_it_and_shown_to_nobody(self):
        self.start(east=[{"fail": {"status": 401}}])
        headers, answer = self.create()
        self.assert_served_by(headers, "west", 2)
        self.assertEqual(self.west.seen()["last_authorization"], f"Bearer {rig.KEY}")
        shown = f"{headers} {answer} {self.gateway.logged()}"
        self.assertIn("attempt failed", shown)
        self.assertNotIn(rig.KEY, shown)


class Failover(ClientTest):
    FAULTS = {
        "an error": {"status": 500},
        "a rate limit": {"status": 429, "retry_after": "30s"},
        "a reset": {"kind": "reset"},
        "an error inside a 200": {"status": 503, "in_200": True},
    }
    STREAM_FAULTS = {
        **FAULTS,
        "a role and a cut": {"preamble": True, "at_token": 0},
        "a first token too late": {"first_token": "20s", "at_token": 1},
    }

    def test_another_upstream_answers_before_first_content(self):
        for stream, faults in [(False, self.FAULTS), (True, self.STREAM_FAULTS)]:
            for name, fault in faults.items():
                with self.subTest(name, stream=stream):
                    timeouts = {"first_token": "500ms"}
                    self.start(east=[{"fail": fault}], policy={"timeouts": timeouts})
                    headers, answer = self.create(stream=stream)
                    self.assert_served_by(headers, "west", 2)
                    text = text_of(answer) if stream else answer.choices[0].message.content
                    self.assertEqual(text, "Hello from the west.")

    def test_a_cut_after_first_content_raises(self):
        for fault in [{"kind": "reset"}, {"kind": "cut"}, {"kind": "garbage"}]:
            with self.subTest(fault=fault):
                fault = {**fault, "at_token": 3, "output_tokens": 8}
                self.start(east=[{"fail": fault}], policy={"timeouts": {"idle": "500ms"}})
                headers, chunks = self.create(stream=True)
                self.assert_served_by(headers, "east", 1)
                received = []
                with self.assertRaises(openai.APIError) as raised:
                    for chunk in chunks:
                        received.append(chunk)
                self.assertEqual(text_of(received), "Hello from east.")
                self.assertEqual(raised.exception.code, "broken_stream")
                reasons = [choice.finish_reason for chunk in received for choice in chunk.choices]
                self.assertEqual(set(reasons), {None})
                # Content had reached the client: nobody else may answer now.
                self.assert_asked(1, 0)

    def test_a_dead_primary_strands_nobody(self):
        self.start()
        self.east.stop()

        async def ask_all():
            client = openai.AsyncOpenAI(
                api_key="any", base_url=self.gateway.base_url, max_retries=0, timeout=30
            )
            async with client:
                asks = [client.chat.completions.create(**ASK) for _ in range(100)]
                return await asyncio.gather(*asks)

        answers = asyncio.run(ask_all())
        self.assertEqual({answer.model for answer in answers}, {"model-west"})
        self.assertEqual(self.west.seen()["requests"], 100)


class Refusals(ClientTest):
    def test_an_unknown_model(self):
        self.start()
        with self.assertRaises(openai.NotFoundError) as raised:
            self.create(model="chta")
        self.assertEqual(raised.exception.code, "model_not_found")
        self.assertIn("chta", raised.exception.message)
        self.assert_asked(0, 0)

    def test_a_path_that_is_not_served(self):
        self.start()
        with self.assertRaises(openai.NotFoundError) as raised:
            self.client.batches.list()
        self.assertEqual(raised.exception.code, "unsupported_endpoint")

    def test_everybody_is_rate_limited(self):
        def limited(wait):
            return [{"fail": {"status": 429, "retry_after": wait}}]

        self.start(east=limited("90s"), west=limited("60s"))
        # The first call learns it from the upstreams, the second one knows.
        for attempts in ["2", "0"]:
            with self.subTest(attempts=attempts):
                with self.assertRaises(openai.RateLimitError) as raised:
                    self.create()
                headers = raised.exception.response.headers
                self.assertEqual(headers["x-pointsman-attempts"], attempts)
                self.assertEqual(raised.exception.code, "rate_limit_exceeded")
                # When the earlier of the two lifts.
                self.assertIn(int(headers["retry-after"]), range(30, 61))
        self.assert_asked(1, 1)

    def test_the_client_does_not_retry_on_top(self):
        self.start(east=[{"fail": {"status": 500}}], west=[{"fail": {"status": 500}}])
        policy = {"retry": {"max_attempts": 2}}
        self.connect({"east": self.east, "west": self.west}, policy)
        with self.assertRaises(openai.APIStatusError) as raised:
            self.client.with_options(max_retries=2).chat.completions.create(**ASK)
        self.assertEqual(raised.exception.status_code, 502)
        self.assert_asked(1, 1)

    def test_a_bad_request_comes_back_in_the_providers_words(self):
        fault = {"status": 400, "message": "temperature is too hot"}
        self.start(east=[{"fail": fault}])
        with self.assertRaises(openai.BadRequestError) as raised:
            self.create()
        self.assertIn("temperature is too hot", raised.exception.message)
        self.assert_asked(1, 0)


class Tools(ClientTest):
    # Spaces, escapes, an order and fields of its own: what is not ours to change must stay.
    WHOLE = (
        b'{ "id":"x", "object":"chat.completion","created":1e9,"model":"m", "choices":[ {"index":0,'
        b'"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{'
        b'"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\\"city\\": '
        b'\\"M\\u00fcnchen\\"}"}}]}} ],"future":{"field":1.50},"usage":{"prompt_tokens":9,'
        b'"completion_tokens":5,"total_tokens":14} }'
    )

    def exchange(self, content_type, answer, **more):
        """Sends a call with tools; returns the body as sent, as received, and the answer."""
        self.recorder = rig.Recorder(self, content_type, answer)
        self.connect({"only": self.recorder})
        sent = []
        hooks = {"request": [lambda request: sent.append(request.read())]}
        self.client = self.client.with_options(http_client=httpx.Client(event_hooks=hooks))
        self.addCleanup(self.client.close)
        call = self.client.chat.completions.with_raw_response.create
        return call(**ASK, tools=[TOOL], tool_choice="auto", **more), sent

    def test_a_round_trip_keeps_every_byte(self):
        answer, sent = self.exchange("application/json", self.WHOLE)
        expected = sent[0].replace(b'"model":"chat"', b'"model":"model-only"')
        self.assertEqual(self.recorder.body, expected)
        self.assertNotEqual(self.recorder.body, sent[0])
        self.assertEqual(answer.content, self.WHOLE)
        call = answer.parse().choices[0].message.tool_calls[0]
        self.assertEqual(json.loads(call.function.arguments), {"city": "München"})

    def test_a_streamed_call_keeps_every_byte(self):
        def frame(delta, finish=None):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}
            return b"data: " + json.dumps(chunk).encode() + b"\n\n"

        def call(**function):
            return {"tool_calls": [{"index": 0, "function": function}]}

        frames = [
            frame({"role": "assistant", "content": None}),
            frame(call(name="weather", arguments="")),
            frame(call(arguments='{"city": "')),
            frame(call(arguments='München"}')),
            frame({}, "tool_calls"),
            b"data: [DONE]\n\n",
        ]
        answer, _ = self.exchange("text/event-stream", b"".join(frames), stream=True)
        self.assertEqual(answer.http_response.read(), b"".join(frames))
        self.assertEqual(answer.headers["x-pointsman-deployment"], "only")


if __name__ == "__main__":
    unittest.main()
