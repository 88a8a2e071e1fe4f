"""What the requests of each client protocol can say beside their text, one member at a time.

The requests go out as they are, so that no client's own checks stand in between.
"""

import base64

import speakers
from members import before, both, put, turns

PNG = base64.b64encode(speakers.PIXEL).decode()
PDF = base64.b64encode(b"%PDF-1.4 nothing in it").decode()
WAV = base64.b64encode(b"RIFF....WAVE").decode()
URL = "https://example.com/cat.png"
WEATHER = {"name": "weather", "description": "The weather.", "parameters": speakers.PARAMETERS}


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
    "`tools`, custom": put("tools", [{"type": "custom", "custom": {"name": "say"}}]),
    "`functions`": put("functions", [WEATHER]),
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
    "`prompt_cache_retention`": put("prompt_cache_retention", "24h"),
    "`moderation`": put("moderation", {"model": "omni-moderation-latest"}),
    "`safety_identifier`": put("safety_identifier", "ann"),
    "`web_search_options`": put("web_search_options", {}),
    "`search_context_size`": put("web_search_options", {"search_context_size": "low"}),
    "`user_location`": put("web_search_options", {"user_location": {
        "type": "approximate", "approximate": {"city": "Ulm", "country": "DE"}}}),
    "`annotations`, sent back": turns(
        "messages", {"role": "assistant", "content": "Hello.", "annotations": [
            {"type": "url_citation", "url_citation": {
                "url": URL, "title": "Cats", "start_index": 0, "end_index": 6}}]},
        {"role": "user", "content": "And?"}),
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
    "`filters.allowed_domains`": put(
        "tools", [{"type": "web_search", "filters": {"allowed_domains": ["example.com"]}}]),
    "`tool_choice`: web_search": put("tool_choice", {"type": "web_search_preview"}).on(
        put("tools", [{"type": "web_search_preview"}])),
    "search, sent back": turns(
        "input",
        {"type": "web_search_call", "id": "ws_1", "status": "completed",
         "action": {"type": "search", "query": "cats"}},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "And?"}),
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
    "`max_tool_calls` of a search": put("max_tool_calls", 2).on(
        put("tools", [{"type": "web_search"}])),
    "`safety_identifier`": put("safety_identifier", "ann"),
    "`conversation`": put("conversation", "conv_1"),
    "`prompt`": put("prompt", {"id": "pmpt_1"}),
    "`context_management`": put("context_management", [{"type": "compaction"}]),
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
    "document, with context": pdf(context="It is about cats."),
    "search result": said({"type": "search_result", "source": URL, "title": "Cats", "content": [
        {"type": "text", "text": "Cats purr."}]}),
    "document, as text": said({"type": "document", "title": "A note.", "source": {
        "type": "text", "media_type": "text/plain", "data": "Cats purr."}}),
    "`tools`": MESSAGES_TOOL,
    "`tools`, cached": put("tools", [{**MESSAGES_SPEC, "cache_control": CACHE}]),
    "`tools`: web_search": put(
        "tools", [{"type": "web_search_20250305", "name": "web_search"}]),
    "`max_uses`": put(
        "tools", [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]),
    "`allowed_domains`": put("tools", [
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["example.com"]}]),
    "search, sent back": turns(
        "messages",
        {"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
             "input": {"query": "cats"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": URL, "title": "Cats",
                 "encrypted_content": "x"}]},
            {"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "And?"}),
    "`citations`, sent back": turns(
        "messages",
        {"role": "assistant", "content": [{"type": "text", "text": "Hello.", "citations": [
            {"type": "web_search_result_location", "url": URL, "title": "Cats",
             "encrypted_index": "x", "cited_text": "Cats purr."}]}]},
        {"role": "user", "content": "And?"}),
    "`tools`: web_fetch": put("tools", [{"type": "web_fetch_20250910", "name": "web_fetch"}]),
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
    "hidden thinking": turns(
        "messages",
        {"role": "assistant", "content": [
            {"type": "redacted_thinking", "data": "aGlk"}, {"type": "text", "text": "Hello."}]},
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
    "`inference_geo`": put("inference_geo", "us"),
    "`cache_control`": put("cache_control", CACHE),
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
    "a name with a dot": put("tools", [{"functionDeclarations": [
        {"name": "shop.find", "parametersJsonSchema": speakers.PARAMETERS}]}]),
    "`parameters` of old": put("tools", [{"functionDeclarations": [{"name": "weather", "parameters": {
        "type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}]}]),
    "`tools`: googleSearch": put("tools", [{"googleSearch": {}}]),
    "`excludeDomains`": put("tools", [{"googleSearch": {"excludeDomains": ["example.com"]}}]),
    "search, sent back": turns(
        "contents",
        {"role": "model", "parts": [
            {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"query": "cats"}}},
            {"toolResponse": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}},
            {"text": "Hello."}]},
        {"role": "user", "parts": [{"text": "And?"}]}),
    "`tools`: urlContext": put("tools", [{"urlContext": {}}]),
    "`retrievalConfig`": put("toolConfig", {"retrievalConfig": {"languageCode": "de"}}),
    "`functionCallingConfig`: ANY": calling("ANY"),
    "`functionCallingConfig`: NONE": calling("NONE"),
    "`functionCallingConfig`: VALIDATED": calling("VALIDATED"),
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
    "signed call": turns(
        "contents",
        {"role": "model", "parts": [{
            "functionCall": {"id": "c1", "name": "weather", "args": {"city": "Ulm"}},
            "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "weather", "response": {"result": "rain"}}},
        ]}).on(GEMINI_TOOL),
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
    "`serviceTier`": put("serviceTier", "flex"),
    "`mediaResolution`": config("mediaResolution", "MEDIA_RESOLUTION_LOW").on(
        part(inlineData={"mimeType": "image/png", "data": PNG})),
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
