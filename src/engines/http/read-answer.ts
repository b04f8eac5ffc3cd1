import { randomUUID } from 'node:crypto'
import { answerValues } from '#contract/limits.ts'
import { ChatCompletion, ChatCompletionChunk, TokenUsage } from '#contract/operations/chat.ts'
import { isObject, parseJson } from '#contract/wire/json.ts'

/** Maximum nesting of an answer's JSON; real ones stay below 20. */
const answerDepth = 64

/** Maximum number of choices in an answer or event. A caller may ask for 16; each costs time, however little it says. */
export const mostChoices = 128

/** Parses an engine's answer as an object; null for anything else. */
export function readObject(text: string): Record<string, unknown> | null {
  const parsed = parseJson(text, answerDepth, answerValues)
  return parsed.ok && isObject(parsed.value) ? parsed.value : null
}

/** Parses the body of a refusal, which Gemini sends in a list. */
export function readRefusal(text: string): Record<string, unknown> | null {
  const parsed = parseJson(text, answerDepth, answerValues)
  const [value] = parsed.ok ? [parsed.value].flat() : []
  return isObject(value) ? value : null
}

/** Parses a complete answer; null if it is invalid, for example without a choice. */
export function readCompletion(value: Record<string, unknown>, nowSeconds: number): ChatCompletion | null {
  const { choices } = value
  if (hasTooMany(choices)) return null
  const answer = { ...framed(value, nowSeconds), object: 'chat.completion', choices }
  const completion = isUsual(answer) ? answer : ChatCompletion.safeParse(answer).data
  return completion?.choices.length ? completion : null
}

/** Parses one event of an answer; null if it is invalid. */
export function readChunk(value: Record<string, unknown>, nowSeconds: number): ChatCompletionChunk | null {
  if (hasTooMany(value.choices)) return null
  const choices = Array.isArray(value.choices) ? value.choices.map(plainChoice) : []
  return (
    ChatCompletionChunk.safeParse({ ...framed(value, nowSeconds), object: 'chat.completion.chunk', choices }).data ??
    null
  )
}

function plainChoice(choice: unknown): Record<string, unknown> {
  const { delta = {}, ...rest } = isObject(choice) ? choice : {}
  return { index: 0, ...rest, delta: isObject(delta) ? plainDelta(delta) : delta }
}

/** Some servers send deltas that the clients of OpenAI cannot join. */
function plainDelta(delta: Record<string, unknown>): Record<string, unknown> {
  const { content, tool_calls: calls } = delta
  return {
    ...delta,
    ...(Array.isArray(content) ? textsOf(content) : {}),
    ...(Array.isArray(calls) ? { tool_calls: calls.map(withoutNulls) } : {}),
  }
}

/** Mistral's models that think send lists of parts: text, thoughts (themselves lists of text), references. */
function textsOf(parts: readonly unknown[]): { content: string; reasoning_content?: string } {
  const texts = parts.filter(isObject)
  const thoughts = texts.flatMap(({ thinking }) => (Array.isArray(thinking) ? thinking.filter(isObject) : []))
  const reasoning = joined(thoughts)
  return { content: joined(texts), ...(reasoning ? { reasoning_content: reasoning } : {}) }
}

const joined = (parts: readonly Record<string, unknown>[]): string =>
  parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')

/** SGLang sends nulls for what it has said of a call before, which would replace it. */
function withoutNulls(call: unknown): unknown {
  if (!isObject(call)) return call
  const said = Object.entries(call).filter(([, value]) => value !== null)
  return Object.fromEntries(said.map(([name, value]) => [name, name === 'function' ? withoutNulls(value) : value]))
}

const hasTooMany = (choices: unknown): boolean => Array.isArray(choices) && choices.length > mostChoices

interface Framed {
  id: string
  created: number
  model: string
  usage?: TokenUsage
  [member: string]: unknown
}

/** Engines omit members that OpenAI's clients need, and use the names of members that only we may set. */
function framed(value: Record<string, unknown>, nowSeconds: number): Framed {
  const { cost: _cost, service_parameters: _parameters, usage, ...own } = value
  const counted = isUsualUsage(usage) ? usage : TokenUsage.safeParse(usage).data
  return {
    ...own,
    id: typeof own.id === 'string' && own.id !== '' ? own.id : `chatcmpl-${randomUUID()}`,
    created: Number.isSafeInteger(own.created) ? (own.created as number) : nowSeconds,
    model: typeof own.model === 'string' ? own.model : '',
    ...(counted ? { usage: withReasoning(withoutCost(counted)) } : {}),
  }
}

/** What the engine charges is the operator's concern. Gateways report it as `cost`, `cost_details` and the like. */
function withoutCost(usage: TokenUsage): TokenUsage {
  const kept = Object.entries(usage).filter(([name]) => !name.startsWith('cost'))
  return kept.length === Object.keys(usage).length ? usage : (Object.fromEntries(kept) as TokenUsage)
}

/**
 * Completion tokens include those of reasoning. xAI reports these beside the completion, and Gemini only as a part of
 * the total; both bill them as output.
 */
function withReasoning(usage: TokenUsage): TokenUsage {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
  const beside = total - prompt - completion
  // A total that holds an unreported prompt tells nothing: the service counts that prompt itself.
  if (beside <= 0 || prompt === 0) return usage
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? beside
  return reasoning > 0 && reasoning <= beside ? { ...usage, completion_tokens: completion + reasoning } : usage
}

/**
 * Whether an answer is text only, as almost all are: the schema, which is slower, would then accept it too. Any unknown
 * member makes it unusual.
 */
function isUsual(answer: Framed & { choices: unknown }): answer is Framed & ChatCompletion {
  const { choices, prompt_logprobs: promptLogprobs } = answer
  return isAbsent(promptLogprobs) && Array.isArray(choices) && choices.every(isUsualChoice)
}

function isUsualChoice(choice: unknown): boolean {
  if (!isObject(choice) || !isObject(choice.message) || !isCount(choice.index)) return false
  const { finish_reason: finish, logprobs, stop_reason: stop, message } = choice
  const { role, content, reasoning_content: reasoning, reasoning_details: details, tool_calls: calls } = message
  const isText =
    typeof content === 'string' && role === 'assistant' && (isAbsent(reasoning) || typeof reasoning === 'string')
  return isText && (finish === null || typeof finish === 'string') && [logprobs, stop, details, calls].every(isAbsent)
}

function isUsualUsage(usage: unknown): usage is TokenUsage {
  if (!isObject(usage)) return false
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage
  const counts = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]
  return counts.every(isCount) && hasCounts(prompt) && hasCounts(completion)
}

const hasCounts = (details: unknown): boolean =>
  isAbsent(details) || (isObject(details) && Object.values(details).every(value => isAbsent(value) || isCount(value)))

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const isAbsent = (value: unknown): boolean => value === undefined || value === null
