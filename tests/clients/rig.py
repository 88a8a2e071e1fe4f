"""Gateways and upstreams as child processes on free ports, for one test each."""

import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("POINTSMAN", str(ROOT / "target" / "debug" / "pointsman"))
KEY = "sk-upstream-secret"
ANY_PORT = "127.0.0.1:0"
# Seconds until a child that was asked to stop is made to.
PATIENCE = 10


class Child:
    """A `pointsman` process; `address` is where it said it listens."""

    def __init__(self, test, *arguments, **environment):
        self.log = tempfile.TemporaryFile("w+")
        test.addCleanup(self.log.close)
        self.process = subprocess.Popen(
            [BINARY, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, **environment},
        )
        test.addCleanup(self.stop)
        line = self.process.stdout.readline()
        prefix = "listening on "
        if not line.startswith(prefix):
            raise AssertionError(f"{arguments}: no address, but {line!r} and {self.logged()!r}")
        self.address = line[len(prefix) :].strip()

    def stop(self):
        """Ends it and returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.stdout.close()
        return self.process.wait()

    def logged(self):
        """What it has written to its log so far."""
        self.log.seek(0)
        return self.log.read()


class Mock(Child):
    """A mock upstream called `name`, which plays a fault script."""

    def __init__(self, test, name, script):
        super().__init__(test, "mock", "--listen", ANY_PORT, "--name", name)
        self.play(script)

    def play(self, script):
        """Plays another script from now on."""
        body = json.dumps(script).encode()
        urllib.request.urlopen(f"{self.address}/script", data=body, timeout=PATIENCE).close()

    def seen(self):
        """What it was asked so far."""
        with urllib.request.urlopen(f"{self.address}/seen", timeout=PATIENCE) as answer:
            return json.load(answer)


    def requests(self):
        """The heads of its last requests, the oldest first."""
        with urllib.request.urlopen(f"{self.address}/seen/requests", timeout=PATIENCE) as answer:
            return json.load(answer)

    def body(self, nth=0):
        """The exact body of a request, the last being number 0."""
        with urllib.request.urlopen(f"{self.address}/seen/body/{nth}", timeout=PATIENCE) as answer:
            return answer.read()


class Recorder:
    """An upstream that keeps the body of the last request and answers with fixed bytes."""

    def __init__(self, test, content_type, answer):
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                recorder.body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.body = None
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        test.addCleanup(thread.join)
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)


class Gateway(Child):
    """`pointsman serve` with this config; the key of every upstream is in `UPSTREAM_KEY`."""

    def __init__(self, test, document):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(document, file)
        test.addCleanup(os.unlink, file.name)
        arguments = ["--config", file.name, "--listen", ANY_PORT, "--admin", ANY_PORT]
        super().__init__(test, "serve", *arguments, UPSTREAM_KEY=KEY)
        self.base_url = f"{self.address}/v1"


def failover(upstreams, policy=None):
    """A config for upstreams by name: group `chat` prefers them in this order."""
    names = list(upstreams)
    return {
        "version": 1,
        "providers": {name: provider("openai", upstreams[name].address) for name in names},
        "deployments": {name: {"provider": name, "model": f"model-{name}"} for name in names},
        "groups": {
            "chat": {
                "strategy": "weighted",
                "members": [
                    {"deployment": name, "order": order} for order, name in enumerate(names, start=1)
                ],
            }
        },
        "policy": policy or {},
    }


# What stands after the address of a provider of each protocol.
BASES = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


def provider(protocol, address):
    """An upstream as a provider in a config."""
    more = {
        "azure": {"api_version": "2025-04-01-preview"},
        "bedrock": {"region": "us-east-1"},
    }
    return {
        "protocol": protocol,
        "base_url": address + BASES.get(protocol, ""),
        "api_key": {"env": "UPSTREAM_KEY"},
        **more.get(protocol, {}),
    }
