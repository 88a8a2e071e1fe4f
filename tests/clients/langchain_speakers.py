"""LangChain's clients, as speakers."""

import base64

import langchain_anthropic
import langchain_openai
from langchain_core import messages

import speakers


class LangChain(speakers.Speaker):
    def close(self):
        pass

    def ask(self, text, stream=False, tools=False, image=None, schema=None, think=False, after=None,
            results=()):
        content = [{"type": "text", "text": text}]
        if image:
            data = base64.b64encode(image).decode()
            content.append({"type": "image", "base64": data, "mime_type": "image/png"})
        turns = [messages.SystemMessage(speakers.SYSTEM), messages.HumanMessage(content)]
        if after:
            turns.append(after.turn)
            turns += [
                messages.ToolMessage(result, tool_call_id=call[0])
                for call, result in zip(after.calls, results)
            ]
        runnable = self.client
        if tools:
            runnable = runnable.bind_tools([
                {"title": name, "description": description, **speakers.PARAMETERS}
                for name, description in speakers.TOOLS.items()
            ])
        runnable = runnable.bind(**self.more(schema, think))
        if not stream:
            return self.read(runnable.invoke(turns))
        chunks = list(runnable.stream(turns))
        return self.read(sum(chunks[1:], chunks[0]))

    def read(self, answer):
        usage = answer.usage_metadata
        blocks = answer.content_blocks
        thoughts = [block.get("reasoning", "") for block in blocks if block["type"] == "reasoning"]
        return speakers.Answer(
            text="".join(block["text"] for block in blocks if block["type"] == "text"),
            finish="tools" if answer.tool_calls else self.FINISH[self.reason(answer)],
            usage=(usage["input_tokens"], usage["input_token_details"].get("cache_read", 0),
                   usage["output_tokens"]),
            calls=[(call["id"], call["name"], call["args"]) for call in answer.tool_calls],
            thoughts="".join(thoughts) or answer.additional_kwargs.get("reasoning_content", ""),
            turn=answer,
        )


class Chat(LangChain):
    # It leaves out what is not OpenAI's own.
    shows_thoughts = False
    FINISH = speakers.Chat.FINISH
    error = speakers.Chat.error
    failure = speakers.Chat.failure

    def connect(self, address):
        return langchain_openai.ChatOpenAI(
            model=self.model, api_key="any", base_url=f"{address}/v1", max_retries=0,
            timeout=speakers.PATIENCE, stream_usage=True,
        )

    def more(self, schema, think):
        wanted = {"name": "thing", "schema": schema, "strict": True}
        more = {"response_format": {"type": "json_schema", "json_schema": wanted}} if schema else {}
        return more | ({"reasoning_effort": "low"} if think else {})

    def reason(self, answer):
        return answer.response_metadata["finish_reason"]


class Messages(LangChain):
    FINISH = speakers.Messages.FINISH
    error = speakers.Messages.error
    failure = speakers.Messages.failure

    def connect(self, address):
        return langchain_anthropic.ChatAnthropic(
            model=self.model, api_key="any", base_url=address, max_retries=0,
            timeout=speakers.PATIENCE, max_tokens=4096,
        )

    def more(self, schema, think):
        more = {"output_config": {"format": {"type": "json_schema", "schema": schema}}} if schema else {}
        return more | ({"thinking": {"type": "enabled", "budget_tokens": 1024}} if think else {})

    def reason(self, answer):
        return answer.response_metadata["stop_reason"]
