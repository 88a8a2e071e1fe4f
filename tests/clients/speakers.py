"""Real clients of every protocol behind one interface, so that one test can be put to all of them.

A speaker asks one question and gives one `Answer`; `after` goes on from an answer that called tools.
"""

import base64
import dataclasses
import json

import anthropic
import botocore.exceptions
import httpx
import httpx2
import openai
import urllib3
from google import genai

# One transparent pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = {"weather": "The weather in a city.", "time": "The time in a city."}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["name", "count"],
    "additionalProperties": False,
}
SYSTEM = "Be brief."
# Seconds until an answer must have come.
PATIENCE = 30
# How clients tell of an answer that was cut.
CUT = (
    openai.APIError,
    anthropic.APIError,
    genai.errors.APIError,
    botocore.exceptions.ClientError,
    botocore.exceptions.BotoCoreError,
    httpx.TransportError,
    httpx2.TransportError,
    urllib3.exceptions.HTTPError,
    # OpenAI's, of a response that did not complete.
    RuntimeError,
)


@dataclasses.dataclass
class Answer:
    text: str
    # What a client sees as the reason: `stop`, `tools`, `length`.
    finish: str
    # Input with what was cached, what was cached of it, output with reasoning.
    usage: tuple
    # (id, name, arguments) of each call.
    calls: list = dataclasses.field(default_factory=list)
    thoughts: str = ""
    # What has to be sent back before the tools' results.
    turn: object = None


@dataclasses.dataclass
class Failure:
    """How a client's own exception tells of a failure."""

    status: int
    message: str


class Speaker:
    """One client in front of `address`, asking for `model`; it never retries by itself."""

    shows_thoughts = True

    def __init__(self, address, model):
        self.address, self.model = address, model
        self.client = self.connect(address)

    def close(self):
        self.client.close()


class Chat(Speaker):
    FINISH = {"stop": "stop", "tool_calls": "tools", "length": "length"}
    error = openai.APIError

    def connect(self, address):
        return openai.OpenAI(
            api_key="any", base_url=f"{address}/v1", max_retries=0, timeout=PATIENCE
        )

    def ask(self, text, stream=False, tools=False, image=None, schema=None, think=False, after=None,
            results=()):
        content = text
        if image:
            url = f"data:image/png;base64,{base64.b64encode(image).decode()}"
            content = [
                {"type": "text", "text": text},
                {"type": "image_url", "image_url": {"url": url}},
            ]
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]
        if after:
            pairs = zip(after.calls, results)
            tool = lambda call, result: {"role": "tool", "tool_call_id": call[0], "content": result}
            messages += [after.turn, *(tool(call, result) for call, result in pairs)]
        more = {}
        if tools:
            function = lambda name: {
                "name": name, "description": TOOLS[name], "parameters": PARAMETERS, "strict": True,
            }
            more["tools"] = [{"type": "function", "function": function(name)} for name in TOOLS]
        if schema:
            wanted = {"name": "thing", "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if think:
            more["reasoning_effort"] = "low"
        return self.read(self.send(stream, model=self.model, messages=messages, **more))

    def send(self, stream, **request):
        if not stream:
            return self.client.chat.completions.create(**request)
        options = {"include_usage": True}
        with self.client.chat.completions.stream(stream_options=options, **request) as events:
            return events.get_final_completion()

    def read(self, answer):
        choice = answer.choices[0]
        message, usage = choice.message, answer.usage
        calls = [
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or []
        ]
        cached = usage.prompt_tokens_details.cached_tokens
        return Answer(
            text=message.content or "",
            finish=self.FINISH[choice.finish_reason],
            usage=(usage.prompt_tokens, cached, usage.completion_tokens),
            calls=calls,
            thoughts=getattr(message, "reasoning_content", None) or "",
            turn=message.model_dump(exclude_none=True, exclude={"parsed"}),
        )

    def failure(self, error):
        return Failure(getattr(error, "status_code", None), error.message)


class Responses(Speaker):
    error = openai.APIError
    connect = Chat.connect
    failure = Chat.failure

    def ask(self, text, stream=False, tools=False, image=None, schema=None, think=False, after=None,
            results=()):
        content = [{"type": "input_text", "text": text}]
        if image:
            url = f"data:image/png;base64,{base64.b64encode(image).decode()}"
            content.append({"type": "input_image", "image_url": url, "detail": "auto"})
        items = [{"role": "user", "content": content}]
        if after:
            items += after.turn
            items += [
                {"type": "function_call_output", "call_id": call[0], "output": result}
                for call, result in zip(after.calls, results)
            ]
        more = {}
        if tools:
            more["tools"] = [
                {"type": "function", "name": name, "description": TOOLS[name],
                 "parameters": PARAMETERS, "strict": True}
                for name in TOOLS
            ]
        if schema:
            wanted = {"type": "json_schema", "name": "thing", "schema": schema, "strict": True}
            more["text"] = {"format": wanted}
        if think:
            more["reasoning"] = {"effort": "low", "summary": "auto"}
        return self.read(self.send(stream, model=self.model, instructions=SYSTEM, input=items,
                                   store=False, **more))

    def send(self, stream, **request):
        if not stream:
            return self.client.responses.create(**request)
        with self.client.responses.stream(**request) as events:
            return events.get_final_response()

    def read(self, answer):
        items, usage = answer.output, answer.usage
        calls = [item for item in items if item.type == "function_call"]
        thoughts = [item for item in items if item.type == "reasoning"]
        finish = "tools" if calls else {"completed": "stop", "incomplete": "length"}[answer.status]
        return Answer(
            text=answer.output_text,
            finish=finish,
            usage=(usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens),
            calls=[(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
            thoughts="".join(part.text for item in thoughts for part in item.summary),
            turn=[item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in items],
        )


class Messages(Speaker):
    FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tools", "max_tokens": "length"}
    error = anthropic.APIError

    def connect(self, address):
        return anthropic.Anthropic(
            api_key="any", base_url=address, max_retries=0, timeout=PATIENCE
        )

    def ask(self, text, stream=False, tools=False, image=None, schema=None, think=False, after=None,
            results=()):
        content = [{"type": "text", "text": text}]
        if image:
            source = {"type": "base64", "media_type": "image/png",
                      "data": base64.b64encode(image).decode()}
            content.append({"type": "image", "source": source})
        messages = [{"role": "user", "content": content}]
        if after:
            outcomes = [
                {"type": "tool_result", "tool_use_id": call[0], "content": result}
                for call, result in zip(after.calls, results)
            ]
            messages += [after.turn, {"role": "user", "content": outcomes}]
        more = {}
        if tools:
            more["tools"] = [
                {"name": name, "description": TOOLS[name], "input_schema": PARAMETERS}
                for name in TOOLS
            ]
        if schema:
            more["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if think:
            more["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        return self.read(self.send(stream, model=self.model, system=SYSTEM, messages=messages,
                                   max_tokens=4096, **more))

    def send(self, stream, **request):
        if not stream:
            return self.client.messages.create(**request)
        with self.client.messages.stream(**request) as events:
            return events.get_final_message()

    def read(self, answer):
        blocks, usage = answer.content, answer.usage
        of = lambda kind: [block for block in blocks if block.type == kind]
        cached = usage.cache_read_input_tokens or 0
        written = usage.cache_creation_input_tokens or 0
        return Answer(
            text="".join(block.text for block in of("text")),
            finish=self.FINISH[answer.stop_reason],
            usage=(usage.input_tokens + cached + written, cached, usage.output_tokens),
            calls=[(block.id, block.name, block.input) for block in of("tool_use")],
            thoughts="".join(block.thinking for block in of("thinking")),
            turn=answer.to_param(),
        )

    def failure(self, error):
        return Failure(getattr(error, "status_code", None), str(error.body or error))


class Gemini(Speaker):
    FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
    error = genai.errors.APIError

    def connect(self, address):
        options = genai.types.HttpOptions(base_url=address, timeout=PATIENCE * 1000)
        return genai.Client(api_key="any", http_options=options)

    def ask(self, text, stream=False, tools=False, image=None, schema=None, think=False, after=None,
            results=()):
        types = genai.types
        parts = [types.Part(text=text)]
        if image:
            parts.append(types.Part.from_bytes(data=image, mime_type="image/png"))
        contents = [types.Content(role="user", parts=parts)]
        if after:
            outcomes = [
                types.Part(function_response=types.FunctionResponse(
                    id=call[0], name=call[1], response={"result": result}))
                for call, result in zip(after.calls, results)
            ]
            contents += [after.turn, types.Content(role="user", parts=outcomes)]
        config = {"system_instruction": SYSTEM}
        if tools:
            config["tools"] = [types.Tool(function_declarations=[
                types.FunctionDeclaration(
                    name=name, description=TOOLS[name], parameters_json_schema=PARAMETERS)
                for name in TOOLS
            ])]
            config["automatic_function_calling"] = {"disable": True}
        if schema:
            config |= {"response_mime_type": "application/json", "response_json_schema": schema}
        if think:
            config["thinking_config"] = {"include_thoughts": True, "thinking_budget": 1024}
        return self.read(self.send(stream, model=self.model, contents=contents, config=config))

    def send(self, stream, **request):
        """The candidate's parts, why it ended, and what it used."""
        models = self.client.models
        if not stream:
            chunks = [models.generate_content(**request)]
        else:
            chunks = list(models.generate_content_stream(**request))
        candidates = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
        parts = [
            part for candidate in candidates if candidate.content
            for part in candidate.content.parts or []
        ]
        return parts, candidates[-1].finish_reason.value, chunks[-1].usage_metadata

    def read(self, answer):
        parts, finish, usage = answer
        calls = [part.function_call for part in parts if part.function_call]
        texts = [part for part in parts if part.text]
        output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        return Answer(
            text="".join(part.text for part in texts if not part.thought),
            finish="tools" if calls else self.FINISH[finish],
            usage=(usage.prompt_token_count, usage.cached_content_token_count or 0, output),
            calls=[(call.id, call.name, call.args) for call in calls],
            thoughts="".join(part.text for part in texts if part.thought),
            turn=genai.types.Content(
                role="model", parts=[part for part in parts if part.text or part.function_call]),
        )

    def failure(self, error):
        return Failure(error.code, error.message)
