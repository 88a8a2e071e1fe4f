"""Answers that rest on a search of the web, read by real clients; and what they lose on the way.

The upstream says the transcripts of wire/tests/golden/search.
"""

import json
import pathlib
import tempfile
import time
import unittest
import urllib.request

import anthropic
import openai
from google import genai

import rig

GOLDEN = rig.ROOT / "wire/tests/golden/search"
PROVIDERS = ["openai", "anthropic", "gemini"]
PAGE = "https://berge.example/glockner"
MODEL = {"openai": "gpt-4o-search-preview"}


def gateway(test, provider, stream, **more):
    """A gateway in front of an upstream that says the transcript of this provider."""
    name, kind = ("stream.sse", "text/event-stream") if stream else ("answer.json", "application/json")
    recorder = rig.Recorder(test, kind, (GOLDEN / f"{provider}.{name}").read_bytes())
    return rig.Gateway(test, {
        "version": 1,
        "providers": {"east": rig.provider(provider, recorder.address)},
        "deployments": {"east": {"provider": "east", "model": MODEL.get(provider, "m")}},
        "groups": {"chat": {"members": ["east"]}},
        **more,
    })


class Searches(unittest.TestCase):
    def every(self, ask):
        for provider in PROVIDERS:
            for stream in (False, True):
                with self.subTest(provider=provider, stream=stream):
                    ask(gateway(self, provider, stream).address, provider, stream)

    def check(self, text, start, end):
        """Every transcript says how high the mountain is, and that is what rests on the page."""
        self.assertIn("3798 m", text)
        self.assertLess(start, end)
        self.assertTrue("Großglockner" in text[start:end] or PAGE in text[start:end], text[start:end])

    def test_chat_completions(self):
        self.every(self.chat)

    def chat(self, address, provider, stream):
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0)
        self.addCleanup(client.close)
        asked = {"model": "chat", "messages": [{"role": "user", "content": "How high?"}],
                 "web_search_options": {}}
        if stream:
            with client.chat.completions.create(**asked, stream=True) as chunks:
                deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
            text = "".join(delta.content or "" for delta in deltas)
            found = [one for delta in deltas for one in getattr(delta, "annotations", None) or []]
            found = [one["url_citation"] for one in found]
        else:
            message = client.chat.completions.create(**asked).choices[0].message
            text, found = message.content, [
                one.url_citation.model_dump() for one in message.annotations]
        self.assertEqual(found[0]["url"], PAGE)
        self.check(text, found[0]["start_index"], found[0]["end_index"])

    def test_responses(self):
        self.every(self.responses)

    def responses(self, address, provider, stream):
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0)
        self.addCleanup(client.close)
        asked = {"model": "chat", "input": "How high?", "store": False,
                 "tools": [{"type": "web_search"}]}
        if stream:
            with client.responses.stream(**asked) as events:
                names = [event.type for event in events]
                response = events.get_final_response()
            if provider != "openai":
                self.assertIn("response.web_search_call.completed", names)
            self.assertIn("response.output_text.annotation.added", names)
        else:
            response = client.responses.create(**asked)
        parts = [part for item in response.output if item.type == "message" for part in item.content]
        part, found = next((part, part.annotations[0]) for part in parts if part.annotations)
        self.assertEqual(found.url, PAGE)
        self.assertLess(found.start_index, found.end_index)
        self.assertLessEqual(found.end_index, len(part.text))
        searches = [item for item in response.output if item.type == "web_search_call"]
        self.assertEqual(len(searches), 0 if provider == "openai" else 1)
        for search in searches:
            self.assertEqual(search.action.sources[0].url, PAGE)

    def test_messages(self):
        self.every(self.messages)

    def messages(self, address, provider, stream):
        client = anthropic.Anthropic(base_url=address, api_key="any", max_retries=0)
        self.addCleanup(client.close)
        asked = {"model": "chat", "max_tokens": 99,
                 "messages": [{"role": "user", "content": "How high?"}],
                 "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        cited = [block for block in message.content if getattr(block, "citations", None)]
        self.assertEqual(cited[0].citations[0].url, PAGE)
        self.assertIn("3798 m", "".join(getattr(block, "text", "") for block in message.content))
        kinds = [block.type for block in message.content]
        calls, results = kinds.count("server_tool_use"), kinds.count("web_search_tool_result")
        self.assertEqual(calls, results)
        self.assertEqual(calls, {"openai": 0, "anthropic": 1, "gemini": 2}[provider])

    def test_generate_content(self):
        self.every(self.generate)

    def generate(self, address, provider, stream):
        client = genai.Client(api_key="any", http_options={"base_url": address})
        self.addCleanup(client.close)
        asked = {"model": "chat", "contents": "How high?",
                 "config": {"tools": [{"google_search": {}}]}}
        if stream:
            pieces = list(client.models.generate_content_stream(**asked))
            parts = [part for piece in pieces
                     for part in piece.candidates[0].content.parts or [] if not part.thought]
            whole = "".join(part.text or "" for part in parts).encode()
            grounding = pieces[-1].candidates[0].grounding_metadata
        else:
            candidate = client.models.generate_content(**asked).candidates[0]
            grounding = candidate.grounding_metadata
            at = grounding.grounding_supports[0].segment.part_index or 0
            whole = candidate.content.parts[at].text.encode()
        support = grounding.grounding_supports[0]
        source = grounding.grounding_chunks[support.grounding_chunk_indices[0]].web
        self.assertEqual(source.uri, PAGE)
        # Bytes here.
        segment = support.segment
        said = whole[segment.start_index or 0:segment.end_index].decode()
        self.assertTrue("Großglockner" in said or PAGE in said, said)


class Losses(unittest.TestCase):
    """What of an answer the client's protocol cannot hold is told: in the head if it is whole, of a
    stream in its usage record."""

    LOST = {"answer.web_search", "answer.citations.cited_text", "answer.signature"}

    def ask(self, address, stream):
        body = {"model": "chat", "stream": stream, "web_search_options": {},
                "messages": [{"role": "user", "content": "How high?"}]}
        request = urllib.request.Request(
            f"{address}/v1/chat/completions", json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": "Bearer any"})
        with urllib.request.urlopen(request, timeout=rig.PATIENCE) as answer:
            answer.read()
            return answer.headers["x-pointsman-lost"]

    def test_a_whole_answer_says_so_in_its_head_and_a_stream_in_its_record(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for stream in (False, True):
            with self.subTest(stream=stream):
                path = pathlib.Path(folder.name) / f"usage-{stream}.jsonl"
                metering = {"usage_log": str(path)}
                served = gateway(self, "anthropic", stream, metering=metering)
                header = self.ask(served.address, stream)
                self.assertEqual(header is None, stream)
                if not stream:
                    self.assertEqual(set(header.split(", ")), self.LOST)
                self.assertEqual(set(self.record(path)["lost"].split(", ")), self.LOST)

    def record(self, path):
        until = time.monotonic() + rig.PATIENCE
        while time.monotonic() < until:
            lines = path.read_text("utf-8").splitlines() if path.exists() else []
            if lines:
                return json.loads(lines[0])
            time.sleep(0.02)
        self.fail("there is no usage record")


if __name__ == "__main__":
    unittest.main()
