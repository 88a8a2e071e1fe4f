"""Tests of everything that is no conversation, for the mock and for a gateway in front of it."""

import io
import json
import urllib.request

import openai

import speakers


class Others:
    """Tests of `address`, which answers for `model`; `mock` is the upstream, which calls it `known`."""

    def connect(self, mock, address, model, known):
        self.mock, self.address, self.model, self.known = mock, address, model, known
        self.client = openai.OpenAI(api_key="any", base_url=f"{address}/v1", max_retries=0)
        self.addCleanup(self.client.close)

    def tearDown(self):
        seen = self.mock.seen()
        if seen["requests"]:
            self.assertEqual(seen["last_model"], self.known)

    def test_a_completion_of_old(self):
        for stream in (False, True):
            answer = self.client.completions.create(model=self.model, prompt="Hello?", stream=stream)
            chunks = answer if stream else [answer]
            text = "".join(chunk.choices[0].text for chunk in chunks)
            self.assertEqual(text, "Hello from east.")

    def test_embeddings_in_both_encodings(self):
        for encoding in ("float", "base64"):
            answer = self.client.embeddings.create(
                model=self.model, input=["a", "b"], encoding_format=encoding
            )
            self.assertEqual(len(answer.data), 2)
        packed = self.client.embeddings.create(model=self.model, input="a")
        self.assertEqual(packed.data[0].embedding, [-0.5, 0.25, 1.0])

    def test_images(self):
        answer = self.client.images.generate(model=self.model, prompt="A cat.", n=2)
        self.assertEqual(len(answer.data), 2)
        image = io.BytesIO(speakers.PIXEL)
        edited = self.client.images.edit(model=self.model, image=image, prompt="A dog.")
        self.assertTrue(edited.data[0].b64_json)

    def test_sound(self):
        said = self.client.audio.speech.create(model=self.model, voice="alloy", input="Hello.")
        sound = said.read()
        self.assertTrue(sound.startswith(b"ID3"))
        heard = self.client.audio.transcriptions.create(model=self.model, file=("a.mp3", sound))
        self.assertEqual(heard.text, f"Hello from east. {len(sound)} bytes of sound.")
        self.assertIn(sound, self.mock.body())

    def test_moderations(self):
        answer = self.client.moderations.create(model=self.model, input=["peace", "violence"])
        self.assertEqual([result.flagged for result in answer.results], [False, True])

    def test_rerank(self):
        body = {"model": self.model, "query": "q", "documents": ["a", "b", "c"], "top_n": 2}
        request = urllib.request.Request(
            f"{self.address}/v1/rerank", json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            results = json.load(answer)["results"]
        self.assertEqual([result["index"] for result in results], [2, 1])
