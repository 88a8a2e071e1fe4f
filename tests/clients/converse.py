"""Bedrock's client, as a speaker."""

import json

import boto3
import botocore.config
import botocore.exceptions

import speakers


class Converse(speakers.Speaker):
    FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tools", "max_tokens": "length"}
    error = botocore.exceptions.ClientError

    def connect(self, address):
        return boto3.client(
            "bedrock-runtime", region_name="us-east-1", endpoint_url=address,
            aws_access_key_id="any", aws_secret_access_key="any",
            config=botocore.config.Config(
                retries={"total_max_attempts": 1}, read_timeout=speakers.PATIENCE, connect_timeout=speakers.PATIENCE),
        )

    def ask(self, text, stream=False, tools=False, image=None, schema=None, think=False, after=None,
            results=()):
        content = [{"text": text}]
        if image:
            content.append({"image": {"format": "png", "source": {"bytes": image}}})
        messages = [{"role": "user", "content": content}]
        if after:
            outcomes = [
                {"toolResult": {"toolUseId": call[0], "content": [{"text": result}]}}
                for call, result in zip(after.calls, results)
            ]
            messages += [after.turn, {"role": "user", "content": outcomes}]
        more = {}
        if tools:
            spec = lambda name: {
                "name": name, "description": speakers.TOOLS[name], "inputSchema": {"json": speakers.PARAMETERS},
            }
            more["toolConfig"] = {"tools": [{"toolSpec": spec(name)} for name in speakers.TOOLS]}
        if schema:
            wanted = {"jsonSchema": {"schema": json.dumps(schema), "name": "thing"}}
            more["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": wanted}}
        if think:
            thinking = {"type": "enabled", "budget_tokens": 1024}
            more["additionalModelRequestFields"] = {"thinking": thinking}
        return self.read(self.send(stream, modelId=self.model, system=[{"text": speakers.SYSTEM}],
                                   messages=messages, **more))

    def send(self, stream, **request):
        """The blocks, why it ended, and what it used."""
        if not stream:
            answer = self.client.converse(**request)
            return answer["output"]["message"]["content"], answer["stopReason"], answer["usage"]
        events = list(self.client.converse_stream(**request)["stream"])
        merged = {name: value for event in events for name, value in event.items()}
        return gathered(events), merged["messageStop"]["stopReason"], merged["metadata"]["usage"]

    def read(self, answer):
        blocks, finish, usage = answer
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        thoughts = [
            block["reasoningContent"]["reasoningText"]["text"]
            for block in blocks if "reasoningContent" in block
        ]
        cached = usage.get("cacheReadInputTokens", 0)
        written = usage.get("cacheWriteInputTokens", 0)
        return speakers.Answer(
            text="".join(block.get("text", "") for block in blocks),
            finish=self.FINISH[finish],
            usage=(usage["inputTokens"] + cached + written, cached, usage["outputTokens"]),
            calls=[(call["toolUseId"], call["name"], call["input"]) for call in calls],
            thoughts="".join(thoughts),
            turn={"role": "assistant", "content": blocks},
        )

    def failure(self, error):
        status = error.response["ResponseMetadata"].get("HTTPStatusCode")
        return speakers.Failure(status, error.response["Error"]["Message"])


def gathered(events):
    """The blocks that a stream of Bedrock's events makes."""
    blocks = {}
    for event in events:
        if start := event.get("contentBlockStart"):
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
        if not (event := event.get("contentBlockDelta")):
            continue
        block, delta = blocks.setdefault(event["contentBlockIndex"], {}), event["delta"]
        if "text" in delta:
            block["text"] = block.get("text", "") + delta["text"]
        if "toolUse" in delta:
            block["toolUse"]["input"] += delta["toolUse"]["input"]
        if reasoning := delta.get("reasoningContent"):
            text = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
            text["text"] += reasoning.get("text", "")
            text |= {key: reasoning[key] for key in ("signature",) if key in reasoning}
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return [blocks[index] for index in sorted(blocks)]
