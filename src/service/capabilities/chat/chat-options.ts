import { fieldError } from '#contract/errors/issues.ts'
import type { ChatCompletionRequest, ContentPart } from '#contract/operations/chat.ts'
import {
  parseModelSuffix,
  type ServiceParameters,
  type ServiceParametersEcho,
  type SuffixedModel,
} from '#contract/operations/service-parameters.ts'
import { answerBytes } from '#engines/http/upstream-options.ts'
import { readImage } from '#engines/images/image-file.ts'
import { askedTokens, type Web } from '#engines/ports/engine.ts'
import { requestFor } from '#engines/ports/published-members.ts'
import type { TextModel } from '../../models/model.ts'

/** The options of a request with their defaults (brief §2.8); a suffix of the model's name overrides the body. */
export interface ChatOptions {
  model: string
  echo: ServiceParametersEcho
  /** The engine itself searches, and the service's standard search is skipped. */
  searchesX: boolean
}

export function chatOptions(
  request: Pick<ChatCompletionRequest, 'model' | 'service_parameters' | 'tools' | 'stream'>,
): ChatOptions {
  const suffixed = parseModelSuffix(request.model)
  refuseInvalid(suffixed)
  const asked: ServiceParameters = { ...request.service_parameters, ...suffixed.parameters }
  const searchesX = asked.enable_x_search ?? hasTool(request, 'x_search')
  if (searchesX && request.stream && asked.return_search_results_as_documents) {
    throw refusal(
      'return_search_results_as_documents',
      'in a stream, the model’s own search results come last, after its tool calls; leave it out, or do not stream',
    )
  }
  return { model: suffixed.model, echo: echoOf(asked, hasTool(request, 'web_search')), searchesX }
}

/**
 * A published tool is another spelling of the option: `web_search` means a search here with `auto`, because the model
 * decides about any tool.
 */
const hasTool = ({ tools }: Pick<ChatCompletionRequest, 'tools'>, name: 'web_search' | 'x_search'): boolean =>
  (tools ?? []).some(({ type }) => type === name)

const echoOf = (asked: ServiceParameters, mayAlwaysSearch: boolean): ServiceParametersEcho => ({
  // The contract allows models that support this, but this service has none.
  enable_e2ee: false,
  enable_web_search: asked.enable_web_search ?? (mayAlwaysSearch ? 'auto' : 'off'),
  enable_web_citations: asked.enable_web_citations ?? false,
  enable_web_scraping: asked.enable_web_scraping ?? false,
  include_service_system_prompt: asked.include_service_system_prompt ?? true,
  include_search_results_in_stream: asked.include_search_results_in_stream ?? false,
  return_search_results_as_documents: asked.return_search_results_as_documents ?? false,
  ...(asked.character_slug === undefined ? {} : { character_slug: asked.character_slug }),
  strip_thinking_response: asked.strip_thinking_response ?? false,
  disable_thinking: asked.disable_thinking ?? false,
})

/** Refuses, by name, every option that this service or model does not support; none is ignored. */
export function checkOptions({ echo, searchesX }: ChatOptions, model: TextModel, web: Web): void {
  if (searchesX && !model.capabilities.supportsXSearch) {
    throw refusal(
      'enable_x_search',
      `${model.id} has no search; leave it out, or choose a model whose record has supportsXSearch`,
    )
  }
  const searches = echo.enable_web_search !== 'off' && !searchesX
  if (searches && !web.search) throw refusal('enable_web_search', 'is not available at this service; leave it out')
  if (searches && !model.capabilities.supportsWebSearch) {
    throw refusal('enable_web_search', `${model.id} does not support search results; leave it out`)
  }
  if (echo.enable_web_scraping && !web.pages) {
    throw refusal('enable_web_scraping', 'is not available at this service; leave it out')
  }
}

function refuseInvalid(suffixed: SuffixedModel): void {
  const [first] = suffixed.invalid
  if (first) throw refusal(first.option, `allowed values: ${first.allowed}`, ['model'])
}

const refusal = (option: string, reason: string, path = ['service_parameters', option]) =>
  fieldError(path, `${option}: ${reason}`)

interface Asked {
  model: TextModel
  options: ChatOptions
  prompts: { service: string; character: string }
}

/**
 * Returns the request for the engine: the members that it may get, the messages of the service (brief §1.5) and of the
 * character before the caller's, with thinking turned off if requested, and without the tools that the service itself
 * provides.
 */
export function engineRequest(
  request: ChatCompletionRequest,
  { model, options: { echo }, prompts }: Asked,
): ChatCompletionRequest {
  const { service_parameters: _own, tools, ...forwarded } = requestFor(model.engine, request)
  const instructions = [echo.include_service_system_prompt ? prompts.service : '', prompts.character].filter(Boolean)
  const ownTools = tools?.filter(({ type }) => type !== 'web_search' && type !== 'x_search')
  // Only this service knows some of the member names by which clients set the limit.
  const limit = askedTokens(request)
  return {
    ...forwarded,
    ...(ownTools?.length ? { tools: ownTools } : {}),
    ...(limit === undefined || limit === askedTokens(forwarded) ? {} : { max_completion_tokens: limit }),
    model: model.id,
    messages: [...instructions.map(content => ({ role: 'system' as const, content })), ...forwarded.messages],
    ...(echo.disable_thinking ? { reasoning: undefined, reasoning_effort: effortOfNone(model) } : {}),
  }
}

/** Returns the value that turns thinking off, for a model whose record has it; others would refuse it. */
export const effortOfNone = ({ capabilities }: TextModel): 'none' | undefined => {
  const { supportsReasoningEffort, reasoningEffortOptions } = capabilities
  return supportsReasoningEffort && (reasoningEffortOptions?.includes('none') ?? true) ? 'none' : undefined
}

/** Checks that the model accepts the media in a conversation, as bytes or by URL. Throws `invalidRequest`. */
export function checkChat(model: TextModel, request: ChatCompletionRequest): void {
  checkTools(model, request)
  let images = 0
  for (const [index, { content }] of request.messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [place, part] of content.entries()) {
      if (part.type === 'text') continue
      const path = ['messages', index, 'content', place]
      checkPart(model, part, path)
      if (part.type === 'image_url') images++
      if (images > 1 && !model.capabilities.supportsMultipleImages) {
        throw fieldError(path, `${model.id} accepts one image for each request`)
      }
    }
  }
}

/** `web_search` is the service's own search; one that the engine would run and bill itself has no price here. */
function checkTools({ id, capabilities }: TextModel, { tools }: ChatCompletionRequest): void {
  for (const [index, { type }] of (tools ?? []).entries()) {
    const isTaken =
      type === undefined ||
      type === 'function' ||
      (type === 'web_search' && capabilities.supportsWebSearch) ||
      (type === 'x_search' && capabilities.supportsXSearch)
    if (!isTaken) throw fieldError(['tools', index, 'type'], `${id} supports only tools of type function`)
  }
}

function checkPart(model: TextModel, part: Exclude<ContentPart, { type: 'text' }>, path: (string | number)[]): void {
  const { supportsVision, supportsAudioInput, supportsVideoInput } = model.capabilities
  const taken = {
    image_url: supportsVision,
    input_audio: supportsAudioInput,
    video_url: supportsVideoInput,
    file: model.files !== undefined,
  }
  if (!taken[part.type]) {
    const types = ['text', ...Object.entries(taken).flatMap(([type, takes]) => (takes ? [type] : []))]
    throw fieldError([...path, 'type'], `${model.id} does not accept ${part.type}; allowed values: ${types.join(', ')}`)
  }
  if (part.type === 'image_url' && !/^https?:/i.test(part.image_url.url)) {
    const read = readImage(part.image_url.url)
    if (!read.ok) throw fieldError([...path, 'image_url', 'url'], read.problem)
  }
  if (part.type === 'video_url' && !/^(https?:|data:video\/)/i.test(part.video_url.url)) {
    throw fieldError([...path, 'video_url', 'url'], 'must be a URL or a data URL (data:video/mp4;base64,…)')
  }
  if (part.type === 'file' && !/^(https?:|data:[^,]{0,200};base64,)/i.test(part.file.file_data)) {
    throw fieldError([...path, 'file', 'file_data'], 'must be a URL or a data URL (data:application/pdf;base64,…)')
  }
}

/**
 * Returns how many tokens, over all choices, fit into the largest answer that an engine may send. A stream has no such
 * limit.
 */
export const tokensOfAnswer = (request: ChatCompletionRequest): number =>
  request.stream ? Number.POSITIVE_INFINITY : tokensWithin(request, tokenBytes)

/** Returns the fewest tokens of an answer that was too large after all, for example because of long runs of spaces. */
export const tokensOfTooLarge = (request: ChatCompletionRequest): number => tokensWithin(request, longTokenBytes)

function tokensWithin({ logprobs, top_logprobs: top }: ChatCompletionRequest, textBytes: number): number {
  const listed = logprobs || top ? 1 + (top ?? 0) : 0
  return Math.floor(answerBytes / (textBytes + listed * logprobBytes))
}

/**
 * Throws 400 for an answer that would be generated and then discarded as too large. Without a maximum, the caller gets
 * one that fits, if there is any.
 */
export function checkAnswerSize(model: TextModel, request: ChatCompletionRequest): void {
  const { n, top_logprobs: top } = request
  const choices = n ?? 1
  const most = Math.floor(tokensOfAnswer(request) / choices)
  const asked = askedTokens(request)
  if (most >= Math.min(asked ?? 1, model.maximumCompletionTokens)) return
  const [field = 'top_logprobs'] = lengthFields.filter(name => request[name] === asked)
  throw fieldError(
    [most > 0 ? field : 'top_logprobs'],
    `an answer of ${asked ?? 1} tokens with n ${choices} and top_logprobs ${top ?? 0} could be larger than the ` +
      `maximum without streaming; allowed values: up to ${most} tokens with these, or a smaller n or top_logprobs, or stream: true`,
  )
}

const lengthFields = ['max_completion_tokens', 'max_tokens', 'maxCompletionTokens'] as const

/**
 * Bytes per token in a complete answer: its text escaped as JSON, and each of its log probabilities, with a token, a
 * number and the token's bytes as a list. Common engines send some 5 and 90.
 */
const tokenBytes = 16
const logprobBytes = 128

/** The longest text of a token: a run of 128 spaces. */
const longTokenBytes = 128
