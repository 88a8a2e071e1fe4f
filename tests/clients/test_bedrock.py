"""Bedrock's signatures, as Amazon's own client makes them, and its keys."""

import json
import unittest

import botocore.auth
import botocore.awsrequest
import botocore.credentials

import cases
import matrix
import rig

REGION = "eu-central-1"
MODELS = [
    "amazon.nova-pro-v1:0",
    "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-v1:0",
    "strange ~name+with%20things",
]
BODY = {"model": "chat", "messages": [{"role": "user", "content": "Hello, Zürich?"}]}


class Signatures(unittest.TestCase):
    def ask(self, model, provider, stream=False):
        """What the provider is sent."""
        mock = rig.Mock(self, "east", cases.SCRIPT)
        gateway = rig.Gateway(self, {
            "version": 1,
            "providers": {"east": {
                "protocol": "bedrock", "region": REGION, "base_url": mock.address, **provider,
            }},
            "deployments": {"east": {"provider": "east", "model": model}},
            "groups": {"chat": {"members": ["east"]}},
        })
        body = json.dumps({**BODY, "stream": stream}).encode()
        status, _, answer = matrix.post(gateway.address + "/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        self.assertNotIn(rig.KEY.encode(), answer)
        request = mock.requests()[-1]
        return mock.address, request, dict(request["headers"]), mock.body()

    def expected(self, address, request, headers, body, token):
        """What `authorization` must be for this request at its time."""
        names = ["content-type", "x-amz-date", *(["x-amz-security-token"] if token else [])]
        same = botocore.awsrequest.AWSRequest(
            "POST", address + request["path"], {name: headers[name] for name in names}, body,
        )
        same.context["timestamp"] = headers["x-amz-date"]
        keys = botocore.credentials.Credentials(rig.KEY, rig.KEY, token)
        auth = botocore.auth.SigV4Auth(keys, "bedrock", REGION)
        string = auth.string_to_sign(same, auth.canonical_request(same))
        return ", ".join([
            f"AWS4-HMAC-SHA256 Credential={auth.scope(same)}",
            f"SignedHeaders={auth.signed_headers(auth.headers_to_sign(same))}",
            f"Signature={auth.signature(string, same)}",
        ])

    def test_they_are_what_amazons_client_makes(self):
        key = {"env": "UPSTREAM_KEY"}
        keys = {"access_key_id": key, "secret_access_key": key}
        for model in MODELS:
            for token in (None, rig.KEY):
                for stream in (False, True):
                    with self.subTest(model=model, token=token, stream=stream):
                        more = {"session_token": key} if token else {}
                        sent = self.ask(model, {"credentials": {**keys, **more}}, stream)
                        headers = sent[2]
                        self.assertEqual(headers["authorization"], self.expected(*sent, token))
                        self.assertEqual(headers.get("x-amz-security-token"), token)

    def test_an_api_key_is_a_bearer(self):
        _, _, headers, _ = self.ask("m", {"api_key": {"env": "UPSTREAM_KEY"}})
        self.assertEqual(headers["authorization"], f"Bearer {rig.KEY}")
        self.assertNotIn("x-amz-date", headers)


if __name__ == "__main__":
    unittest.main()
