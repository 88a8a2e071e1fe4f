"""What an answer may hold beside one text, asked for through real clients: several answers, the
probabilities of tokens, and what was found in the web.

A check asks plain or streamed, raises what the client raises, and asserts that what came is whole.
"""

import types

import cases

TEXT = "Hello from east."
ASKED = "Hello?"
OTHERS = 2
WHY = "I cannot do that."


def chat(test, client, model, stream, **more):
    """The answers by index: text, tokens with their probabilities, citations."""
    messages = [{"role": "user", "content": ASKED}]
    create = client.chat.completions.create
    answer = create(model=model, messages=messages, stream=stream, **more)
    found = {}
    for chunk in answer if stream else [answer]:
        for choice in chunk.choices:
            said = choice.delta if stream else choice.message
            here = found.setdefault(choice.index, entry())
            here.text += said.content or ""
            here.refusal += said.refusal or ""
            here.tokens += choice.logprobs.content or [] if choice.logprobs else []
            here.cited += getattr(said, "annotations", None) or []
            here.ends += [choice.finish_reason] if choice.finish_reason else []
    return found


def entry():
    return types.SimpleNamespace(text="", refusal="", tokens=[], cited=[], ends=[])


def chat_several(test, client, model, stream):
    several(test, chat(test, client, model, stream, n=2))


def several(test, found):
    test.assertEqual(sorted(found), [0, 1])
    for here in found.values():
        test.assertEqual((here.text, len(here.ends)), (TEXT, 1))


def chat_logprobs(test, client, model, stream):
    here = chat(test, client, model, stream, logprobs=True, top_logprobs=OTHERS)[0]
    of_openai(test, here.tokens)


def of_openai(test, tokens):
    test.assertEqual("".join(token.token for token in tokens), TEXT)
    for token in tokens:
        test.assertLess(token.logprob, 0)
        test.assertEqual(len(token.top_logprobs), OTHERS)


def chat_search(test, client, model, stream):
    here = chat(test, client, model, stream, web_search_options={})[0]
    test.assertEqual(here.text, TEXT)
    [cited] = here.cited
    cited = cited if isinstance(cited, dict) else cited.model_dump()
    test.assertEqual(cited["url_citation"]["url"], "https://example.com/found")


def chat_refusal(test, client, model, stream):
    here = chat(test, client, model, stream)[0]
    # Who has no place of its own for a refusal says it in the text.
    expected = (WHY, "", "stop") if here.refusal else ("", WHY, "content_filter")
    test.assertEqual((here.refusal, here.text, *here.ends), expected)


def responses(client, model, stream, **more):
    request = {"model": model, "input": ASKED, "store": False, **more}
    if not stream:
        return client.responses.create(**request)
    # The client's own helper takes a response that is incomplete for none.
    with client.responses.stream(**request) as events:
        ends = {"response.completed", "response.incomplete"}
        [response] = [event.response for event in events if event.type in ends]
    return response


def responses_logprobs(test, client, model, stream):
    include = ["message.output_text.logprobs"]
    answer = responses(client, model, stream, include=include, top_logprobs=OTHERS)
    [message] = [item for item in answer.output if item.type == "message"]
    of_openai(test, message.content[0].logprobs)


def responses_search(test, client, model, stream):
    answer = responses(client, model, stream, tools=[{"type": "web_search"}])
    # In a stream Gemini tells of its search at the end.
    search, message = sorted(answer.output, key=lambda item: item.type, reverse=True)
    test.assertEqual((search.type, message.type), ("web_search_call", "message"))
    test.assertEqual(answer.output_text, TEXT)
    [cited] = message.content[0].annotations
    test.assertEqual(cited.url, "https://example.com/found")


def responses_refusal(test, client, model, stream):
    answer = responses(client, model, stream)
    [message] = answer.output
    [part] = message.content
    if part.type == "refusal":
        test.assertEqual((part.refusal, answer.status), (WHY, "completed"))
    else:
        test.assertEqual((part.text, answer.status), (WHY, "incomplete"))
        test.assertEqual(answer.incomplete_details.reason, "content_filter")


def messages_search(test, client, model, stream):
    request = {
        "model": model, "max_tokens": 100, "messages": [{"role": "user", "content": ASKED}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    }
    if stream:
        with client.messages.stream(**request) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(**request)
    # In a stream Gemini tells of its search at the end.
    search, text, found = sorted(answer.content, key=lambda block: block.type)
    kinds = (search.type, text.type, found.type)
    test.assertEqual(kinds, ("server_tool_use", "text", "web_search_tool_result"))
    test.assertEqual((search.id, text.text), (found.tool_use_id, TEXT))
    test.assertEqual(found.content[0].url, text.citations[0].url)


def messages_refusal(test, client, model, stream):
    request = {
        "model": model, "max_tokens": 100, "messages": [{"role": "user", "content": ASKED}]}
    if stream:
        with client.messages.stream(**request) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(**request)
    [text] = answer.content
    test.assertEqual((text.text, answer.stop_reason), (WHY, "refusal"))


PIECES = [{"type": "text", "text": "Cats purr."}]
# What the client sends to be cited, how it is cited, and from where to where.
SOURCES = [
    ({"type": "search_result", "source": "https://example.com/own", "content": PIECES},
     "search_result_location", ("search_result_index", "start_block_index", "end_block_index"), 1),
    ({"type": "document", "source": {"type": "content", "content": PIECES}},
     "content_block_location", ("document_index", "start_block_index", "end_block_index"), 1),
    ({"type": "document", "source": {
        "type": "text", "media_type": "text/plain", "data": "Cats purr."}},
     "char_location", ("document_index", "start_char_index", "end_char_index"), 10),
]


def messages_cited(test, client, model, stream):
    """What the client sent, cited by its place; `lost` if the text comes without, and says so."""
    outcomes = {cites(test, client, model, stream, *source) for source in SOURCES}
    test.assertEqual(len(outcomes), 1, outcomes)
    return outcomes.pop()


def cites(test, client, model, stream, source, kind, places, end):
    source = {**source, "title": "Cats", "citations": {"enabled": True}}
    content = [source, {"type": "text", "text": ASKED}]
    request = {"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": content}]}
    if stream:
        with client.messages.stream(**request) as events:
            headers, answer = events.response.headers, events.get_final_message()
    else:
        raw = client.messages.with_raw_response.create(**request)
        headers, answer = raw.headers, raw.parse()
    [text] = answer.content
    test.assertEqual(text.text, TEXT)
    if not text.citations:
        test.assertIn("citations", headers["x-pointsman-lost"])
        return "lost"
    [cited] = text.citations
    test.assertEqual(cited.type, kind)
    test.assertEqual([getattr(cited, place) for place in places], [0, 0, end])
    test.assertEqual(cited.cited_text, "Cats purr.")
    if kind == "search_result_location":
        test.assertEqual((cited.source, cited.title), (source["source"], "Cats"))
    return None


def gemini(client, model, stream, **config):
    """The answers by index, as of chat completions."""
    ask = client.models.generate_content_stream if stream else client.models.generate_content
    answer = ask(model=model, contents=ASKED, config=config)
    found = {}
    for chunk in answer if stream else [answer]:
        for candidate in chunk.candidates or []:
            here = found.setdefault(candidate.index or 0, entry())
            parts = (candidate.content and candidate.content.parts) or []
            here.text += "".join(part.text or "" for part in parts)
            here.tokens += [candidate.logprobs_result] if candidate.logprobs_result else []
            here.cited += [candidate.grounding_metadata] if candidate.grounding_metadata else []
            here.ends += [candidate.finish_reason] if candidate.finish_reason else []
    return found


def gemini_several(test, client, model, stream):
    several(test, gemini(client, model, stream, candidate_count=2))


def gemini_logprobs(test, client, model, stream):
    here = gemini(client, model, stream, response_logprobs=True, logprobs=OTHERS)[0]
    tokens = [token for result in here.tokens for token in result.chosen_candidates]
    test.assertEqual("".join(token.token for token in tokens), TEXT)
    top = [place for result in here.tokens for place in result.top_candidates]
    test.assertEqual([len(place.candidates) for place in top], [OTHERS] * len(tokens))


def gemini_search(test, client, model, stream):
    here = gemini(client, model, stream, tools=[{"google_search": {}}])[0]
    test.assertEqual(here.text, TEXT)
    grounding = here.cited[-1]
    test.assertEqual(grounding.grounding_chunks[0].web.uri, "https://example.com/found")
    segment = grounding.grounding_supports[0].segment
    test.assertEqual((segment.start_index or 0, segment.end_index), (0, len(TEXT)))


def gemini_refusal(test, client, model, stream):
    here = gemini(client, model, stream)[0]
    test.assertEqual((here.text, [end.name for end in here.ends]), (WHY, ["SAFETY"]))


SEVERAL, LOGPROBS, SEARCH = "several answers", "probabilities of tokens", "search of the web, cited"
CITED = "documents and findings of the client's, cited"
REFUSAL = "refusal"
# What the upstream says, where it is not what it always says.
SCRIPTS = {REFUSAL: [{"ok": {**cases.FAST, "text": WHY, "output_tokens": 4, "refuses": True}}]}
CHECKS = {
    "chat": {SEVERAL: chat_several, LOGPROBS: chat_logprobs, SEARCH: chat_search,
             REFUSAL: chat_refusal},
    "responses": {LOGPROBS: responses_logprobs, SEARCH: responses_search,
                  REFUSAL: responses_refusal},
    "messages": {SEARCH: messages_search, CITED: messages_cited,
                 REFUSAL: messages_refusal},
    "gemini": {SEVERAL: gemini_several, LOGPROBS: gemini_logprobs, SEARCH: gemini_search,
               REFUSAL: gemini_refusal},
}


def outcome(test, pair, own, speaker, check):
    """`kept`, `converted`, `lost` or `refused`, plain and streamed alike."""
    found = set()
    for stream in (False, True):
        before = pair.mock.seen()["requests"]
        try:
            told = check(test, speaker.client, "chat", stream)
            found.add(told or ("kept" if own else "converted"))
        except speaker.error as error:
            test.assertEqual(speaker.failure(error).status, 400)
            test.assertEqual(pair.mock.seen()["requests"], before, error)
            found.add("refused")
    test.assertEqual(len(found), 1, found)
    return found.pop()
