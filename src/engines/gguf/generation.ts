import { randomInt } from 'node:crypto'
import { contextTooLong } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest, ChatMessage } from '#contract/operations/chat.ts'
import { isObject } from '#contract/wire/json.ts'
import { askedTokens, type ChatCall } from '../ports/engine.ts'
import type {
  GenerateOptions,
  LlamaChat,
  LlamaFunctionCall,
  LlamaFunctions,
  LlamaGrammar,
  LlamaTurn,
  OpenModel,
} from './model-file.ts'

/** The settings for generating one choice of an answer. */
export interface Generation {
  turns: readonly LlamaTurn[]
  promptTokens: number
  options: Omit<GenerateOptions, 'onResponseChunk' | 'signal'>
}

/** Throws `invalidRequest` for anything that llama.cpp does not support here, and `contextTooLong`. */
export async function planGeneration(call: ChatCall, open: OpenModel, chat: LlamaChat): Promise<Generation> {
  const { request, maxCompletionTokens } = call
  refuseWhatIsNotTaken(request)
  checkSchemas(schemasIn(request))
  const turns = turnsOf(request.messages)
  const functions = functionsOf(request)
  const promptTokens = chat.chatWrapper
    .generateContextState({ chatHistory: turns, ...(functions ? { availableFunctions: functions } : {}) })
    .contextText.tokenize(open.model.tokenizer).length
  const room = open.contextTokens - promptTokens - 1
  if (room < 1) throw tooLong(open.contextTokens, promptTokens)
  const each = Math.floor(maxCompletionTokens / (request.n ?? 1))
  const maxTokens = Math.min(each, room, askedTokens(request) ?? Number.POSITIVE_INFINITY)
  const grammar = await grammarOf(request, open)
  return {
    turns,
    promptTokens,
    options: {
      ...samplingOf(request),
      maxTokens,
      customStopTriggers: stopsOf(request),
      ...(grammar ? { grammar } : {}),
      ...(functions
        ? { functions, ...(request.parallel_tool_calls === false ? { maxParallelFunctionCalls: 1 } : {}) }
        : {}),
    },
  }
}

/** Each choice has its own seed, so that no two are the same. */
export const seedOf = ({ seed }: ChatCompletionRequest, choice: number): number =>
  seed === null || seed === undefined ? randomInt(2 ** 32 - 1) : (seed + choice) % 2 ** 32

const stopsOf = ({ stop }: ChatCompletionRequest): string[] =>
  (typeof stop === 'string' ? [stop] : (stop ?? [])).filter(Boolean)

function refuseWhatIsNotTaken({
  logprobs,
  tools,
  tool_choice: choice,
  response_format: format,
}: ChatCompletionRequest) {
  if (logprobs) throw fieldError(['logprobs'], 'This model returns no log probabilities; allowed values: false')
  const isFree = choice === null || choice === undefined || choice === 'auto' || choice === 'none'
  if (!isFree)
    throw fieldError(['tool_choice'], 'This model cannot be forced to call a tool; allowed values: auto, none')
  if (tools?.length && format && format.type !== 'text') {
    throw fieldError(['response_format'], 'This model supports either a format or tools; leave one of them out')
  }
}

function schemasIn({ tools, response_format: format }: ChatCompletionRequest): SentSchema[] {
  const ofTools = (tools ?? []).map((tool, index) => ({
    schema: 'function' in tool ? (tool.function as { parameters?: unknown } | undefined)?.parameters : undefined,
    path: ['tools', index, 'function', 'parameters'],
  }))
  if (format?.type !== 'json_schema') return ofTools
  const { schema } = format.json_schema as { schema?: unknown }
  return [...ofTools, { schema, path: ['response_format', 'json_schema', 'schema'] }]
}

function functionsOf({ tools, tool_choice: choice }: ChatCompletionRequest): LlamaFunctions | null {
  if (!tools?.length || choice === 'none') return null
  const named = tools.flatMap(tool => ('function' in tool && tool.function ? [tool.function] : []))
  return Object.fromEntries(
    (named as { name: string; description?: string; parameters?: object }[]).map(
      ({ name, description, parameters }) => [
        name,
        { ...(description ? { description } : {}), ...(parameters ? { params: parameters } : {}) },
      ],
    ),
  )
}

async function grammarOf(
  { response_format: format }: ChatCompletionRequest,
  { llama }: OpenModel,
): Promise<LlamaGrammar | null> {
  if (!format || format.type === 'text') return null
  if (format.type === 'json_object') return llama.getGrammarFor('json')
  const { schema } = format.json_schema as { schema?: unknown }
  if (typeof schema !== 'object' || schema === null) {
    throw fieldError(['response_format', 'json_schema', 'schema'], 'must be a JSON schema')
  }
  try {
    return await llama.createGrammarForJsonSchema(schema)
  } catch {
    throw fieldError(
      ['response_format', 'json_schema', 'schema'],
      'No grammar can be generated from this schema; simplify it',
    )
  }
}

/** OpenAI's defaults if the caller gives no values. */
function samplingOf(request: ChatCompletionRequest) {
  const { temperature, top_p, top_k, min_p, repetition_penalty, frequency_penalty, presence_penalty } = request
  return {
    temperature: temperature ?? 1,
    ...(top_p ? { topP: top_p } : {}),
    ...(top_k ? { topK: top_k } : {}),
    ...(min_p ? { minP: min_p } : {}),
    repeatPenalty: {
      penalty: repetition_penalty ?? 1,
      frequencyPenalty: frequency_penalty ?? 0,
      presencePenalty: presence_penalty ?? 0,
    },
  }
}

const tooLong = (contextTokens: number, promptTokens: number) =>
  contextTooLong({
    error: {
      message: `This model’s context is ${contextTokens} tokens, and the messages are ${promptTokens}. Shorten them.`,
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  })

/** Converts a conversation for llama.cpp's templates, with an empty answer at its end. Throws `invalidRequest`. */
function turnsOf(messages: readonly ChatMessage[]): LlamaTurn[] {
  const turns: LlamaTurn[] = []
  // By id, the latest last: some clients number the calls of each answer from zero.
  const calls = new Map<string, NamedCall>()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') answerCall(calls, message, index)
    else {
      const turn = turnOf(message, index)
      if (turn.type === 'model') for (const item of turn.response) if (isCall(item)) calls.set(item.id, item)
      turns.push(turn)
    }
  }
  if (turns.at(-1)?.type !== 'model') turns.push({ type: 'model', response: [] })
  return turns
}

function turnOf(message: Exclude<ChatMessage, { role: 'tool' }>, index: number): LlamaTurn {
  const text = textOf(message.content, index)
  if (message.role === 'user') return { type: 'user', text }
  if (message.role !== 'assistant') return { type: 'system', text }
  const calls = (message.tool_calls ?? []).map((call, place) => callOf(call, ['messages', index, 'tool_calls', place]))
  return { type: 'model', response: [...(text ? [text] : []), ...calls] }
}

type Content = Exclude<ChatMessage, { role: 'tool' }>['content']

function textOf(content: Content, index: number): string {
  if (typeof content === 'string') return content
  const parts = (content ?? []).map((part, place) => {
    if (part.type === 'text') return part.text
    throw fieldError(
      ['messages', index, 'content', place, 'type'],
      'This model accepts only text; allowed values: text',
    )
  })
  return parts.join('\n')
}

type ToolCall = NonNullable<Extract<ChatMessage, { role: 'assistant' }>['tool_calls']>[number]

/** The id is kept beside what the template prints, so that the tool's message finds its call. */
type NamedCall = LlamaFunctionCall & { id: string }

function callOf({ id = '', function: called }: ToolCall, path: (string | number)[]): NamedCall {
  const { name = '', arguments: text = '{}' } = called ?? {}
  try {
    return { type: 'functionCall', id, name, params: JSON.parse(text || '{}'), result: null }
  } catch {
    throw fieldError([...path, 'function', 'arguments'], 'must be JSON, as the model wrote it')
  }
}

function answerCall(
  calls: ReadonlyMap<string, NamedCall>,
  message: Extract<ChatMessage, { role: 'tool' }>,
  index: number,
): void {
  const call = calls.get(message.tool_call_id)
  if (!call) throw fieldError(['messages', index, 'tool_call_id'], 'does not answer a call in an earlier message')
  call.result = message.content
}

const isCall = (item: string | LlamaFunctionCall): item is NamedCall => typeof item !== 'string'

/** A schema in a request, and where it is. */
interface SentSchema {
  schema: unknown
  path: readonly (string | number)[]
}

/**
 * Members, and the most of what they count, of all schemas together. A grammar has rules for each of these, and nothing
 * else in the process runs while it is built.
 */
const mostCounted = 20_000

/** Each character, item or property that these allow becomes a rule. */
const counts: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
])

/**
 * Checks schemas before llama.cpp's package reads them: it builds a grammar of any size, and prints references that lead
 * nowhere, as the caller wrote them, to the operator's log. Throws `invalidRequest`.
 */
export function checkSchemas(schemas: readonly SentSchema[]): void {
  let counted = 0
  for (const { schema, path } of schemas) {
    const members = [...membersOf(schema)]
    checkReferences(members, path)
    counted += members.length
    for (const [name, value] of members) {
      // A property of the caller's own may have that name.
      if (!counts.has(name) || isObject(value)) continue
      if (typeof value !== 'number') throw fieldError(path, `its ${name} must be a number`)
      counted += Math.max(0, value)
    }
    if (counted > mostCounted) {
      throw fieldError(
        path,
        `is too large for this model: its members plus the values of limits such as maxLength may add up to at most ${mostCounted}`,
      )
    }
  }
}

type Member = readonly [name: string, value: unknown]

/** At any depth; a request's depth is limited. */
function* membersOf(value: unknown): Generator<Member> {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.entries(value)) {
    yield member
    yield* membersOf(member[1])
  }
}

const definitionPath = '#/$defs/'

function checkReferences(members: readonly Member[], path: SentSchema['path']): void {
  const defined = new Set(
    members.flatMap(([name, value]) => (name === '$defs' && isObject(value) ? Object.keys(value) : [])),
  )
  for (const [name, value] of members) {
    if (name !== '$ref' || typeof value !== 'string') continue
    const isDefined = value.startsWith(definitionPath) && defined.has(value.slice(definitionPath.length))
    if (!isDefined)
      throw fieldError(path, `a $ref must name a definition of the schema itself, as ${definitionPath}NAME`)
  }
}
