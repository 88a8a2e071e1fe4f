"""What providers take, by the types of their own clients: whatever they would refuse is a fault."""

import collections.abc
import functools
import importlib
import pkgutil

import anthropic.types
import botocore.session
import botocore.validate
import openai.types.chat
import openai.types.responses
import openai.types.shared_params
import pydantic
import typing_extensions
from google import genai


# Some take files, which are no JSON.
STRICT = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)


# Anthropic's version 2023-06-01, which the gateway speaks, has these; the clients' newer one has not.
SAMPLING = {"temperature", "top_p", "top_k"}


def check(provider, path, body):
    """Raises if this provider would not take the body at this path."""
    if provider == "bedrock":
        bedrock(body)
    elif provider == "gemini":
        gemini(body)
    elif provider == "anthropic":
        params = anthropic.types.message_create_params
        body = {name: value for name, value in body.items() if name not in SAMPLING}
        walked(adapter(params.MessageCreateParamsNonStreaming).validate_python(body))
    elif path.endswith("/responses"):
        params = openai.types.responses.response_create_params
        walked(adapter(params.ResponseCreateParamsNonStreaming).validate_python(body))
    else:
        params = openai.types.chat.completion_create_params
        walked(adapter(params.CompletionCreateParamsNonStreaming).validate_python(body))


def bedrock(body):
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").input_shape
    report = botocore.validate.ParamValidator().validate({"modelId": "m", **body}, shape)
    if report.has_errors():
        raise ValueError(report.generate_report())


def gemini(body):
    types = genai.types
    known = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "safetySettings": list[types.SafetySetting],
        "serviceTier": types.ServiceTier,
    }
    for name, value in body.items():
        pydantic.TypeAdapter(known[name]).validate_python(value)


@functools.cache
def adapter(params):
    strict()
    return pydantic.TypeAdapter(params)


@functools.cache
def strict():
    """Makes every typed dictionary of these packages refuse members it does not know."""
    chat, responses = openai.types.chat, openai.types.responses
    for package in (anthropic.types, chat, responses, openai.types.shared_params):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                if typing_extensions.is_typeddict(value):
                    value.__pydantic_config__ = STRICT


def walked(value):
    """Reads everything, because lists are only checked as they are read."""
    if isinstance(value, dict):
        return {name: walked(inner) for name, inner in value.items()}
    if isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes)):
        return [walked(inner) for inner in value]
    return value
