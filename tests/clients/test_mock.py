"""Real clients straight in front of `pointsman mock`: what it says is what they take for a provider."""

import json
import unittest
import urllib.request

import anthropic
import openai

import cases
import converse
import langchain_speakers
import others
import rig
import speakers

SPEAKERS = [
    speakers.Chat, speakers.Responses, speakers.Messages, speakers.Gemini, converse.Converse,
    langchain_speakers.Chat, langchain_speakers.Messages,
]


class Talk(unittest.TestCase):
    def test_every_client_takes_every_answer(self):
        for speaker_type in SPEAKERS:
            mock = rig.Mock(self, "east", cases.SCRIPT)
            speaker = speaker_type(mock.address, "some-model")
            self.addCleanup(speaker.close)
            for case, stream, name in cases.runs():
                with self.subTest(speaker_type, case=name):
                    mock.play(cases.SCRIPT)
                    case(self, speaker, mock, stream=stream)
                    self.assertEqual(mock.seen()["last_model"], "some-model")

    def test_azure_has_paths_of_its_own(self):
        mock = rig.Mock(self, "east", cases.SCRIPT)
        client = openai.AzureOpenAI(
            api_key="any", api_version="2025-04-01-preview", azure_endpoint=mock.address,
            max_retries=0,
        )
        self.addCleanup(client.close)
        ask = {"model": "gpt", "messages": [{"role": "user", "content": "Hello?"}]}
        self.assertEqual(client.chat.completions.create(**ask).choices[0].message.content,
                         "Hello from east.")
        chunks = list(client.chat.completions.create(**ask, stream=True))
        self.assertEqual(chunks[0].choices, [])
        request = mock.requests()[-1]
        self.assertEqual(request["path"], "/openai/deployments/gpt/chat/completions")
        self.assertEqual(request["query"], "api-version=2025-04-01-preview")
        self.assertEqual(dict(request["headers"])["api-key"], "any")
        mock.play([{"fail": {"status": 400, "code": "content_filter"}}])
        with self.assertRaises(openai.BadRequestError) as raised:
            client.chat.completions.create(**ask)
        self.assertEqual(raised.exception.body["innererror"]["code"], "ResponsibleAIPolicyViolation")


class Limits(unittest.TestCase):
    """Each provider tells of its limits in its own way."""

    LIMITED = [{"fail": {"status": 429, "retry_after": "7s",
                         "quota": {"requests_left": 0, "tokens_left": 9, "resets_in": "90s"}}}]

    def refused(self, speaker_type):
        mock = rig.Mock(self, "east", self.LIMITED)
        speaker = speaker_type(mock.address, "some-model")
        self.addCleanup(speaker.close)
        with self.assertRaises(speaker.error) as raised:
            speaker.ask("Hello?")
        self.assertEqual(speaker.failure(raised.exception).status, 429)
        return raised.exception

    def test_openai(self):
        for speaker_type in (speakers.Chat, speakers.Responses):
            error = self.refused(speaker_type)
            self.assertIsInstance(error, openai.RateLimitError)
            self.assertEqual(error.code, "rate_limit_exceeded")
            headers = error.response.headers
            self.assertEqual(headers["retry-after"], "7")
            self.assertEqual(headers["x-ratelimit-remaining-tokens"], "9")
            self.assertEqual(headers["x-ratelimit-reset-requests"], "1m30s")

    def test_anthropic(self):
        error = self.refused(speakers.Messages)
        self.assertIsInstance(error, anthropic.RateLimitError)
        self.assertEqual(error.body["error"]["type"], "rate_limit_error")
        headers = error.response.headers
        self.assertEqual(headers["retry-after"], "7")
        self.assertEqual(headers["anthropic-ratelimit-requests-remaining"], "0")
        self.assertRegex(headers["anthropic-ratelimit-tokens-reset"], r"^20\d\d-\d\d-\d\dT.*Z$")

    def test_gemini(self):
        error = self.refused(speakers.Gemini)
        self.assertEqual(error.status, "RESOURCE_EXHAUSTED")
        quota, retry = error.details["error"]["details"]
        self.assertIn("PerMinute", quota["violations"][0]["quotaId"])
        self.assertEqual(retry["retryDelay"], "7s")

    def test_bedrock(self):
        error = self.refused(converse.Converse)
        self.assertEqual(error.response["Error"]["Code"], "ThrottlingException")


class Others(others.Others, unittest.TestCase):
    def setUp(self):
        mock = rig.Mock(self, "east", cases.SCRIPT)
        self.connect(mock, mock.address, "m", "m")


class ModelsAndCounts(unittest.TestCase):
    def setUp(self):
        self.mock = rig.Mock(self, "east", cases.SCRIPT)
        self.client = openai.OpenAI(api_key="any", base_url=f"{self.mock.address}/v1")
        self.addCleanup(self.client.close)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["east"])
        self.assertEqual(self.client.models.retrieve("ft:a").id, "ft:a")
        other = anthropic.Anthropic(api_key="any", base_url=self.mock.address)
        self.addCleanup(other.close)
        self.assertEqual([model.id for model in other.models.list()], ["east"])
        gemini = speakers.Gemini(self.mock.address, "m")
        self.addCleanup(gemini.close)
        self.assertEqual([model.name for model in gemini.client.models.list()], ["models/east"])

    def test_counts_of_tokens(self):
        ask = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}
        other = anthropic.Anthropic(api_key="any", base_url=self.mock.address)
        self.addCleanup(other.close)
        self.assertGreater(other.messages.count_tokens(**ask).input_tokens, 0)
        gemini = speakers.Gemini(self.mock.address, "m")
        self.addCleanup(gemini.close)
        counted = gemini.client.models.count_tokens(model="m", contents="Hello?")
        self.assertGreater(counted.total_tokens, 0)


class Gemini(unittest.TestCase):
    def test_without_sse_a_stream_is_one_array(self):
        mock = rig.Mock(self, "east", cases.SCRIPT)
        body = json.dumps({"contents": [{"parts": [{"text": "Hello?"}]}]}).encode()
        url = f"{mock.address}/v1beta/models/m:streamGenerateContent"
        with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
            self.assertEqual(answer.headers["content-type"], "application/json")
            chunks = json.load(answer)
        texts = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks]
        self.assertEqual("".join(texts), "Hello from east.")
        self.assertEqual(chunks[-1]["candidates"][0]["finishReason"], "STOP")


if __name__ == "__main__":
    unittest.main()
