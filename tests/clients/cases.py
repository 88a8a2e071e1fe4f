"""What every client is asked of every upstream, and what must come of it."""

import json

import speakers

# The script of an upstream called `east`: three words, and more tokens than they have.
FAST = {"first_token": "1ms", "per_token": "1ms"}
SCRIPT = [{"ok": {**FAST, "output_tokens": 3, "input_tokens": 100, "cached_tokens": 40}}]
USAGE = (100, 40, 3)
RESULTS = ["5 degrees", "noon"]
BAD_REQUEST = {"status": 400, "message": "temperature is too hot"}


def plain(test, speaker, mock, stream=False):
    answer = speaker.ask("Hello?", stream=stream)
    test.assertEqual(answer.text, "Hello from east.")
    test.assertEqual(answer.finish, "stop")
    test.assertEqual(answer.usage, USAGE)


def tools(test, speaker, mock, stream=False):
    asked = "Use the tools, please."
    answer = speaker.ask(asked, stream=stream, tools=True)
    test.assertEqual(answer.finish, "tools")
    called = [(name, arguments) for _, name, arguments in answer.calls]
    test.assertEqual(called, [(name, {"city": "sample"}) for name in speakers.TOOLS])
    ids = [id for id, _, _ in answer.calls]
    test.assertEqual(len(set(ids)), 2, ids)
    final = speaker.ask(asked, stream=stream, tools=True, after=answer, results=RESULTS)
    test.assertEqual(final.finish, "stop")
    for result in RESULTS:
        test.assertIn(result, final.text)
    # Calls and results are still each other's.
    sent = mock.body()
    for id in ids:
        test.assertEqual(sent.count(json.dumps(id).encode()), 2, sent)


def image(test, speaker, mock, stream=False):
    answer = speaker.ask("What is this?", stream=stream, image=speakers.PIXEL)
    test.assertEqual(answer.text, "I see an image of type image/png.")


def schema(test, speaker, mock, stream=False):
    answer = speaker.ask("Name a thing.", stream=stream, schema=speakers.SCHEMA)
    test.assertEqual(json.loads(answer.text), {"name": "sample", "count": 1})


def reasoning(test, speaker, mock, stream=False):
    answer = speaker.ask("Hello?", stream=stream, think=True)
    if speaker.shows_thoughts:
        test.assertEqual(answer.thoughts, "Let me think about that.")
    test.assertEqual(answer.text, "Hello from east.")


def error(test, speaker, mock, stream=False):
    mock.play([{"fail": BAD_REQUEST}])
    with test.assertRaises(speaker.error) as raised:
        speaker.ask("Hello?", stream=stream)
    failure = speaker.failure(raised.exception)
    test.assertEqual(failure.status, 400)
    test.assertIn(BAD_REQUEST["message"], failure.message)


def broken(test, speaker, mock, stream=True):
    """What is cut after some content never looks whole."""
    for fault in [{"status": 503}, {"kind": "reset"}]:
        mock.play([{"fail": {**fault, "at_token": 2, **FAST}}])
        with test.assertRaises(speakers.CUT):
            speaker.ask("Hello?", stream=True)


CASES = [plain, tools, image, schema, reasoning, error]
STREAMED_ONLY = [broken]


def runs():
    """Every case with whether it is streamed, and a name."""
    for stream in (False, True):
        for case in CASES + (STREAMED_ONLY if stream else []):
            yield case, stream, case.__name__ + (", streamed" if stream else "")
