"""What the requests of each client protocol can say beside their text, one member at a time.

The requests go out as they are, so that no client's own checks stand in between.
"""

import base64

import speakers

PNG = base64.b64encode(speakers.PIXEL).decode()
PDF = base64.b64encode(b"%PDF-1.4 nothing in it").decode()
WAV = base64.b64encode(b"RIFF....WAVE").decode()
URL = "https://example.com/cat.png"
WEATHER = {"name": "weather", "description": "The weather.", "parameters": speakers.PARAMETERS}


class Member:
    """Something that `add` adds to a request."""

    def __init__(self, add, base=lambda body: None):
        # `base` adds what the request must have besides.
        self.add, self.base = add, base

    def on(self, other):
        """The same, to a request that has `other` already."""
        return Member(self.add, other.add)


def put(*path):
    """Sets a member: the last of `path` is its value."""
    *names, last, value = path

    def add(body):
        for name in names:
            body = body.setdefault(name, {})
        body[last] = value

    return Member(add)


def both(*members):
    return Member(lambda body: [member.add(body) for member in members])


def turns(name, *more):
    """Appends to the conversation called `name`."""
    return Member(lambda body: body[name].extend(more))


def before(name, *more):
    return Member(lambda body: body[name].__setitem__(slice(0, 0), more))


# --- chat completions

CHAT_TOOL = put("tools", [{"type": "function", "function": WEATHER}])


def said(*parts):
    return turns("messages", {"role": "user", "content": list(parts)})


def chat_file(data):
    return {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}


CHAT = {
    "`system`": before("messages", {"role": "system", "content": "Be brief."}),
    "`developer`": before("messages", {"role": "developer", "content": "Be brief."}),
    "`name`": turns("messages", {"role": "user", "name": "ann", "content": "And?"}),
    "image, in the request": said(
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}),
    "image, by URL": said({"type": "image_url", "image_url": {"url": URL}}),
    "image `detail`": said(
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}),
    "file": said(chat_file(f"data:application/pdf;base64,{PDF}")),
    "file, uploaded": said({"type": "file", "file": {"file_id": "file-1"}}),
    "audio": said({"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}),
    "`tools`": CHAT_TOOL,
    "`tools`, strict": put("tools", [{"type": "function", "function": {**WEATHER, "strict": True}}]),
    "`tool_choice`: required": put("tool_choice", "required").on(CHAT_TOOL),
    "`tool_choice`: none": put("tool_choice", "none").on(CHAT_TOOL),
    "`tool_choice`: one": put(
        "tool_choice", {"type": "function", "function": {"name": "weather"}}).on(CHAT_TOOL),
    "`parallel_tool_calls`": put("parallel_tool_calls", False).on(CHAT_TOOL),
    "call and result": turns(
        "messages",
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function",
             "function": {"name": "weather", "arguments": '{"city":"Ulm"}'}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"}).on(CHAT_TOOL),
    "`refusal`": turns(
        "messages", {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "user", "content": "Why?"}),
    "`response_format`: json_object": put("response_format", {"type": "json_object"}),
    "`response_format`: json_schema": put("response_format", {
        "type": "json_schema",
        "json_schema": {"name": "thing", "schema": speakers.SCHEMA, "strict": True}}),
    "`max_tokens`": put("max_tokens", 64),
    "`max_completion_tokens`": put("max_completion_tokens", 64),
    "`stop`": put("stop", ["END"]),
    "`temperature`": put("temperature", 0.5),
    "`temperature` above 1": put("temperature", 1.5),
    "`top_p`": put("top_p", 0.5),
    "`frequency_penalty`": put("frequency_penalty", 0.5),
    "`presence_penalty`": put("presence_penalty", 0.5),
    "`seed`": put("seed", 7),
    "`logit_bias`": put("logit_bias", {"50256": -100}),
    "`logprobs`": both(put("logprobs", True), put("top_logprobs", 2)),
    "`n`": put("n", 2),
    "`reasoning_effort`": put("reasoning_effort", "low"),
    "`user`": put("user", "ann"),
    "`metadata`": put("metadata", {"a": "b"}),
    "`store`": put("store", True),
    "`service_tier`": put("service_tier", "flex"),
    "`verbosity`": put("verbosity", "low"),
    "`prediction`": put("prediction", {"type": "content", "content": "Hello"}),
    "`prompt_cache_key`": put("prompt_cache_key", "k"),
    "`safety_identifier`": put("safety_identifier", "ann"),
    "`web_search_options`": put("web_search_options", {}),
    "`modalities`: audio": both(
        put("modalities", ["text", "audio"]), put("audio", {"voice": "alloy", "format": "wav"})),
}

# --- responses

RESPONSES_TOOL = put("tools", [{"type": "function", **WEATHER, "strict": True}])


def put_in(*parts):
    return turns("input", {"role": "user", "content": list(parts)})


RESPONSES = {
    "`instructions`": put("instructions", "Be brief."),
    "`developer`": before("input", {"role": "developer", "content": "Be brief."}),
    "image, in the request": put_in(
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}),
    "image, by URL": put_in({"type": "input_image", "image_url": URL, "detail": "auto"}),
    "file": put_in({"type": "input_file", "filename": "a.pdf",
                    "file_data": f"data:application/pdf;base64,{PDF}"}),
    "file, uploaded": put_in({"type": "input_file", "file_id": "file-1"}),
    "`tools`": RESPONSES_TOOL,
    "`tools`: web_search": put("tools", [{"type": "web_search"}]),
    "`tools`: file_search": put("tools", [{"type": "file_search", "vector_store_ids": ["vs_1"]}]),
    "`tool_choice`: required": put("tool_choice", "required").on(RESPONSES_TOOL),
    "`tool_choice`: one": put(
        "tool_choice", {"type": "function", "name": "weather"}).on(RESPONSES_TOOL),
    "`parallel_tool_calls`": put("parallel_tool_calls", False).on(RESPONSES_TOOL),
    "call and result": turns(
        "input",
        {"type": "function_call", "call_id": "call_1", "name": "weather",
         "arguments": '{"city":"Ulm"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "rain"}).on(RESPONSES_TOOL),
    "reasoning item": turns(
        "input", {"type": "reasoning", "id": "rs_1", "summary": [
            {"type": "summary_text", "text": "Hmm."}], "encrypted_content": "x"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "And?"}),
    "`text.format`: json_object": put("text", {"format": {"type": "json_object"}}),
    "`text.format`: json_schema": put("text", {"format": {
        "type": "json_schema", "name": "thing", "schema": speakers.SCHEMA, "strict": True}}),
    "`text.verbosity`": put("text", {"verbosity": "low"}),
    "`max_output_tokens`": put("max_output_tokens", 64),
    "`temperature`": put("temperature", 0.5),
    "`top_p`": put("top_p", 0.5),
    "`top_logprobs`": both(
        put("top_logprobs", 2), put("include", ["message.output_text.logprobs"])),
    "`reasoning.effort`": put("reasoning", {"effort": "low"}),
    "`reasoning.summary`": put("reasoning", {"effort": "low", "summary": "auto"}),
    "`include`": put("include", ["reasoning.encrypted_content"]),
    "`user`": put("user", "ann"),
    "`metadata`": put("metadata", {"a": "b"}),
    "`store`": put("store", True),
    "`previous_response_id`": put("previous_response_id", "resp_1"),
    "`background`": put("background", True),
    "`truncation`": put("truncation", "auto"),
    "`service_tier`": put("service_tier", "flex"),
    "`prompt_cache_key`": put("prompt_cache_key", "k"),
    "`max_tool_calls`": put("max_tool_calls", 2).on(RESPONSES_TOOL),
}

# --- messages

MESSAGES_SPEC = {
    "name": "weather", "description": "The weather.", "input_schema": speakers.PARAMETERS,
}
MESSAGES_TOOL = put("tools", [MESSAGES_SPEC])
CACHE = {"type": "ephemeral"}


def pdf(**more):
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    return said({"type": "document", "source": source, **more})


MESSAGES = {
    "`system`": put("system", "Be brief."),
    "`system`, cached": put(
        "system", [{"type": "text", "text": "Be brief.", "cache_control": CACHE}]),
    "text, cached": said({"type": "text", "text": "And?", "cache_control": CACHE}),
    "image, in the request": said({"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": PNG}}),
    "image, by URL": said({"type": "image", "source": {"type": "url", "url": URL}}),
    "document": pdf(),
    "document, cited": pdf(citations={"enabled": True}),
    "document, as text": said({"type": "document", "title": "A note.", "source": {
        "type": "text", "media_type": "text/plain", "data": "Cats purr."}}),
    "`tools`": MESSAGES_TOOL,
    "`tools`, cached": put("tools", [{**MESSAGES_SPEC, "cache_control": CACHE}]),
    "`tools`: web_search": put(
        "tools", [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]),
    "`tool_choice`: any": put("tool_choice", {"type": "any"}).on(MESSAGES_TOOL),
    "`tool_choice`: none": put("tool_choice", {"type": "none"}).on(MESSAGES_TOOL),
    "`tool_choice`: tool": put(
        "tool_choice", {"type": "tool", "name": "weather"}).on(MESSAGES_TOOL),
    "`disable_parallel_tool_use`": put(
        "tool_choice", {"type": "auto", "disable_parallel_tool_use": True}).on(MESSAGES_TOOL),
    "call and result": turns(
        "messages",
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Ulm"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]}).on(MESSAGES_TOOL),
    "result, failed": turns(
        "messages",
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Ulm"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "?", "is_error": True},
        ]}).on(MESSAGES_TOOL),
    "thinking block": turns(
        "messages",
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"},
            {"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "And?"}),
    "`output_config.format`": put(
        "output_config", {"format": {"type": "json_schema", "schema": speakers.SCHEMA}}),
    "`output_config.effort`": put("output_config", {"effort": "low"}),
    "`thinking`": both(
        put("thinking", {"type": "enabled", "budget_tokens": 1024}), put("max_tokens", 4096)),
    "`stop_sequences`": put("stop_sequences", ["END"]),
    "`temperature`": put("temperature", 0.5),
    "`top_p`": put("top_p", 0.5),
    "`top_k`": put("top_k", 5),
    "`metadata.user_id`": put("metadata", {"user_id": "ann"}),
    "`service_tier`": put("service_tier", "standard_only"),
    "`container`": put("container", "container_1"),
}

# --- generateContent

GEMINI_TOOL = put("tools", [{"functionDeclarations": [
    {"name": "weather", "description": "The weather.",
     "parametersJsonSchema": speakers.PARAMETERS}]}])


def config(name, value):
    return put("generationConfig", name, value)


def part(**part):
    return turns("contents", {"role": "user", "parts": [part]})


def calling(mode, **more):
    return put("toolConfig", {"functionCallingConfig": {"mode": mode, **more}}).on(GEMINI_TOOL)


GEMINI = {
    "`systemInstruction`": put("systemInstruction", {"parts": [{"text": "Be brief."}]}),
    "image": part(inlineData={"mimeType": "image/png", "data": PNG}),
    "image, by URL": part(fileData={"mimeType": "image/png", "fileUri": URL}),
    "document": part(inlineData={"mimeType": "application/pdf", "data": PDF}),
    "audio": part(inlineData={"mimeType": "audio/wav", "data": WAV}),
    "`functionDeclarations`": GEMINI_TOOL,
    "`parameters` of old": put("tools", [{"functionDeclarations": [{"name": "weather", "parameters": {
        "type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}]}]),
    "`tools`: googleSearch": put("tools", [{"googleSearch": {}}]),
    "`functionCallingConfig`: ANY": calling("ANY"),
    "`functionCallingConfig`: NONE": calling("NONE"),
    "`allowedFunctionNames`": calling("ANY", allowedFunctionNames=["weather"]),
    "call and result": turns(
        "contents",
        {"role": "model", "parts": [
            {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Ulm"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "weather", "response": {"result": "rain"}}},
        ]}).on(GEMINI_TOOL),
    "`thought`": turns(
        "contents",
        {"role": "model", "parts": [
            {"text": "Hmm.", "thought": True}, {"text": "Hello.", "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"text": "And?"}]}),
    "`responseMimeType`": config("responseMimeType", "application/json"),
    "`responseSchema`": both(config("responseMimeType", "application/json"), config(
        "responseSchema", {"type": "OBJECT", "properties": {"name": {"type": "STRING"}}})),
    "`responseJsonSchema`": both(
        config("responseMimeType", "application/json"),
        config("responseJsonSchema", speakers.SCHEMA)),
    "`maxOutputTokens`": config("maxOutputTokens", 64),
    "`stopSequences`": config("stopSequences", ["END"]),
    "`temperature`": config("temperature", 0.5),
    "`topP`": config("topP", 0.5),
    "`topK`": config("topK", 5),
    "`seed`": config("seed", 7),
    "`frequencyPenalty`": config("frequencyPenalty", 0.5),
    "`presencePenalty`": config("presencePenalty", 0.5),
    "`candidateCount`": config("candidateCount", 2),
    "`responseLogprobs`": both(config("responseLogprobs", True), config("logprobs", 2)),
    "`thinkingBudget`": config("thinkingConfig", {"thinkingBudget": 1024}),
    "`thinkingLevel`": config("thinkingConfig", {"thinkingLevel": "LOW"}),
    "`includeThoughts`": config("thinkingConfig", {"thinkingBudget": 1024, "includeThoughts": True}),
    "`safetySettings`": put("safetySettings", [
        {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]),
    "`cachedContent`": put("cachedContent", "cachedContents/1"),
    "`responseModalities`": config("responseModalities", ["IMAGE"]),
}

# By protocol: the path, a plain request, and the members to add to it.
PROTOCOLS = {
    "chat": (
        "/v1/chat/completions",
        {"model": "chat", "messages": [{"role": "user", "content": "Hello?"}]},
        CHAT,
    ),
    "responses": (
        "/v1/responses",
        {"model": "chat", "store": False, "input": [{"role": "user", "content": "Hello?"}]},
        RESPONSES,
    ),
    "messages": (
        "/v1/messages",
        {"model": "chat", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello?"}]},
        MESSAGES,
    ),
    "gemini": (
        "/v1beta/models/chat:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
        GEMINI,
    ),
}
