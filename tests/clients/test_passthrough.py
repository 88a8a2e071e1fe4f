"""What goes through the gateway to a provider of the client's own protocol, and to no other."""

import unittest

import anthropic
import openai

import matrix
import others
import speakers


class Others(others.Others, unittest.TestCase):
    def setUp(self):
        self.pair = matrix.Pair(self, "openai")
        self.connect(self.pair.mock, self.pair.gateway.address, "chat", matrix.MODEL)

    def test_a_form_keeps_every_byte_but_the_models_name(self):
        form = (
            b"--x y\r\nContent-Disposition: form-data; name=\"file\"; filename=\"chat\"\r\n"
            b"Content-Type: audio/mpeg\r\n\r\n\x00\xff model chat\r\n--x\r\n"
            b"--x y\r\ncontent-disposition:form-data; name=\"model\"\r\n\r\n%s\r\n"
            b"--x y\r\nContent-Disposition: form-data; name=\"odd\"\r\n\r\n chat \r\n--x y--\r\nafter"
        )
        kind = {"content-type": 'multipart/form-data; boundary="x y"'}
        url = f"{self.address}/v1/audio/transcriptions"
        status, _, answer = matrix.post(url, form % b"chat", kind)
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.mock.body(), form % matrix.MODEL.encode())

    def test_a_provider_of_another_protocol_cannot_serve_it(self):
        pair = matrix.Pair(self, "anthropic")
        client = openai.OpenAI(
            api_key="any", base_url=f"{pair.gateway.address}/v1", max_retries=0
        )
        self.addCleanup(client.close)
        with self.assertRaises(openai.BadRequestError):
            client.embeddings.create(model="chat", input="a")
        self.assertEqual(pair.mock.seen()["requests"], 0)


class Counts(unittest.TestCase):
    def test_anthropic(self):
        pair = matrix.Pair(self, "anthropic")
        client = anthropic.Anthropic(api_key="any", base_url=pair.gateway.address, max_retries=0)
        self.addCleanup(client.close)
        ask = {"model": "chat", "messages": [{"role": "user", "content": "Hello?"}]}
        self.assertGreater(client.messages.count_tokens(**ask).input_tokens, 0)
        self.assertEqual(pair.mock.seen()["last_model"], matrix.MODEL)

    def test_gemini(self):
        pair = matrix.Pair(self, "gemini")
        gemini = speakers.Gemini(pair.gateway.address, "chat")
        self.addCleanup(gemini.close)
        counted = gemini.client.models.count_tokens(model="chat", contents="Hello?")
        self.assertGreater(counted.total_tokens, 0)
        self.assertEqual(pair.mock.seen()["last_model"], matrix.MODEL)


class Models(unittest.TestCase):
    """The models are the groups, in the words of whoever asks."""

    def test_every_client_lists_them(self):
        address = matrix.Pair(self, "openai").gateway.address
        one = openai.OpenAI(api_key="any", base_url=f"{address}/v1")
        self.addCleanup(one.close)
        self.assertEqual([model.id for model in one.models.list()], ["chat"])
        self.assertEqual(one.models.retrieve("chat").id, "chat")
        two = anthropic.Anthropic(api_key="any", base_url=address)
        self.addCleanup(two.close)
        self.assertEqual([model.id for model in two.models.list()], ["chat"])
        self.assertEqual(two.models.retrieve("chat").id, "chat")
        three = speakers.Gemini(address, "chat")
        self.addCleanup(three.close)
        self.assertEqual([model.name for model in three.client.models.list()], ["models/chat"])
        self.assertEqual(three.client.models.get(model="chat").name, "models/chat")


if __name__ == "__main__":
    unittest.main()
