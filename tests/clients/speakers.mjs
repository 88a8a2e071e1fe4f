// Real clients of every protocol behind one interface, so that one test can be put to all of them.
// `ask` gives the text, why it ended, the calls of tools, and what was thought; with tools it goes on
// until the model has said its last word.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";

// One transparent pixel.
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PARAMETERS = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
export const SCHEMA = {
  type: "object",
  properties: { name: { type: "string" }, count: { type: "integer" } },
  required: ["name", "count"],
  additionalProperties: false,
};
// What each tool gives.
export const TOOLS = { weather: "5 degrees", time: "noon" };
const NAMES = Object.keys(TOOLS);
const STEPS = 3;
const LIMITS = { maxRetries: 0, timeout: 30_000 };

// Asks until no tool is called; `send` gives an answer and what goes on from it.
async function untilDone(send, { tools }) {
  const calls = [];
  for (let step = 0; step < STEPS; step += 1) {
    const answer = await send();
    calls.push(...answer.calls);
    if (answer.calls.length === 0 || !tools) return { ...answer, calls };
    answer.goOn(answer.calls.map(({ id, name }) => ({ id, result: TOOLS[name] })));
  }
  throw new Error("tools are called over and over");
}

function chat(address, model) {
  const client = new OpenAI({ apiKey: "any", baseURL: `${address}/v1`, ...LIMITS });
  return async (text, { stream, tools, image, schema } = {}) => {
    const content = [{ type: "text", text }];
    const url = `data:image/png;base64,${PIXEL}`;
    if (image) content.push({ type: "image_url", image_url: { url } });
    const messages = [{ role: "user", content }];
    const request = { model, messages };
    if (tools) {
      request.tools = NAMES.map((name) => ({
        type: "function",
        function: { name, parameters: PARAMETERS, strict: true },
      }));
    }
    if (schema) {
      const wanted = { name: "thing", schema: SCHEMA, strict: true };
      request.response_format = { type: "json_schema", json_schema: wanted };
    }
    const send = async () => {
      const answer = stream
        ? await client.chat.completions.stream(request).finalChatCompletion()
        : await client.chat.completions.create(request);
      const { message, finish_reason: finish } = answer.choices[0];
      const calls = (message.tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.function.name,
        input: JSON.parse(call.function.arguments),
      }));
      const goOn = (results) => {
        messages.push(message);
        for (const { id, result } of results) {
          messages.push({ role: "tool", tool_call_id: id, content: result });
        }
      };
      return { text: message.content ?? "", finish, calls, goOn };
    };
    return untilDone(send, { tools });
  };
}

function responses(address, model) {
  const client = new OpenAI({ apiKey: "any", baseURL: `${address}/v1`, ...LIMITS });
  return async (text, { stream, tools, image, schema } = {}) => {
    const content = [{ type: "input_text", text }];
    const url = `data:image/png;base64,${PIXEL}`;
    if (image) content.push({ type: "input_image", image_url: url, detail: "auto" });
    const input = [{ role: "user", content }];
    const request = { model, input, store: false };
    if (tools) {
      const type = "function";
      request.tools = NAMES.map((name) => ({ type, name, parameters: PARAMETERS, strict: true }));
    }
    if (schema) {
      request.text = {
        format: { type: "json_schema", name: "thing", schema: SCHEMA, strict: true },
      };
    }
    const send = async () => {
      const answer = stream
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request);
      if (answer.status === "failed") throw new Error(answer.error.message);
      const called = answer.output.filter((item) => item.type === "function_call");
      const calls = called.map(({ call_id: id, name, arguments: given }) => {
        return { id, name, input: JSON.parse(given) };
      });
      const goOn = (results) => {
        const given = ({ parsed_arguments: _, ...item }) => item;
        input.push(...answer.output.map(given));
        for (const { id, result } of results) {
          input.push({ type: "function_call_output", call_id: id, output: result });
        }
      };
      const finish = answer.status === "completed" ? "stop" : answer.status;
      return { text: answer.output_text, finish, calls, goOn };
    };
    return untilDone(send, { tools });
  };
}

function messages(address, model) {
  const client = new Anthropic({ apiKey: "any", baseURL: address, ...LIMITS });
  return async (text, { stream, tools, image, schema } = {}) => {
    const content = [{ type: "text", text }];
    const source = { type: "base64", media_type: "image/png", data: PIXEL };
    if (image) content.push({ type: "image", source });
    const turns = [{ role: "user", content }];
    const request = { model, max_tokens: 1000, messages: turns };
    if (tools) request.tools = NAMES.map((name) => ({ name, input_schema: PARAMETERS }));
    if (schema) request.output_config = { format: { type: "json_schema", schema: SCHEMA } };
    const send = async () => {
      const answer = stream
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      const of = (type) => answer.content.filter((block) => block.type === type);
      const goOn = (results) => {
        const given = results.map(({ id, result }) => {
          return { type: "tool_result", tool_use_id: id, content: result };
        });
        turns.push({ role: "assistant", content: answer.content });
        turns.push({ role: "user", content: given });
      };
      const finish = answer.stop_reason === "end_turn" ? "stop" : answer.stop_reason;
      const said = of("text").map((block) => block.text);
      return { text: said.join(""), finish, calls: of("tool_use"), goOn };
    };
    return untilDone(send, { tools });
  };
}

// The Vercel AI SDK, with the model that `connect` makes.
function vercel(connect) {
  return (address, name) => {
    const model = connect(address)(name);
    return async (text, { stream, tools, image, schema } = {}) => {
      const content = [{ type: "text", text }];
      if (image) content.push({ type: "image", image: PIXEL, mediaType: "image/png" });
      const conversation = [{ role: "user", content }];
      const request = { model, messages: conversation, maxRetries: 0, maxOutputTokens: 1000 };
      if (tools) {
        const make = (result) =>
          tool({ inputSchema: jsonSchema(PARAMETERS), execute: async () => result });
        request.tools = Object.fromEntries(NAMES.map((name) => [name, make(TOOLS[name])]));
        request.stopWhen = stepCountIs(STEPS);
      }
      if (schema) request.output = Output.object({ schema: jsonSchema(SCHEMA) });
      const answer = stream ? await streamed(request) : await generateText(request);
      const steps = await answer.steps;
      const calls = steps.flatMap((step) => step.toolCalls).map((call) => {
        return { id: call.toolCallId, name: call.toolName, input: call.input };
      });
      return { text: await answer.text, finish: await answer.finishReason, calls };
    };
  };
}

// A stream read to its end; what goes wrong in it is thrown.
async function streamed(request) {
  const answer = streamText({ ...request, onError: () => {} });
  for await (const part of answer.fullStream) if (part.type === "error") throw part.error;
  return answer;
}

const openai = (address) => createOpenAI({ apiKey: "any", baseURL: `${address}/v1` });

// By name: the client, and the protocol it speaks.
export const SPEAKERS = {
  "openai, chat": { protocol: "chat", connect: chat },
  "openai, responses": { protocol: "responses", connect: responses },
  anthropic: { protocol: "messages", connect: messages },
  "ai, openai chat": { protocol: "chat", connect: vercel((at) => openai(at).chat) },
  "ai, openai responses": { protocol: "responses", connect: vercel((at) => openai(at).responses) },
  "ai, anthropic": {
    protocol: "messages",
    connect: vercel((at) => createAnthropic({ apiKey: "any", baseURL: `${at}/v1` })),
  },
  "ai, google": {
    protocol: "gemini",
    connect: vercel((at) => createGoogleGenerativeAI({ apiKey: "any", baseURL: `${at}/v1beta` })),
  },
};
