import { countTokens as countPiece } from 'gpt-tokenizer/encoding/o200k_base'
import type { ChatCompletionRequest, ChatMessage, ContentPart } from '#contract/operations/chat.ts'

/** The tokenizer's work grows with the square of an unbroken run, so it sees a text in pieces of at most this many characters. */
export const tokenizedPieceCharacters = 128

/** Characters of a request that are really tokenized, under 0.1 s of the worst script: nobody else is answered meanwhile. */
export const tokenizedCharacters = 32_768

/** Ordinary text has 4 to 5 bytes a token; what is not tokenized is taken to have no more, whatever it begins with. */
const bytesPerTokenAtMost = 5

/** A picture in a prompt; large ones cost known models 800 to 4,000 tokens. */
export const imageTokens = 4_096

/** Bytes of encoded speech for a token: models take 10 to 25 tokens a second, and speech is rarely below 1 kB a second. */
const audioBytesPerToken = 32

/** Blanks in a row that ordinary text has, as indentation; beyond them each counts as a token of its own. */
export const ordinaryBlanks = 32

/** Names of special tokens that stand in a text are text. */
const asText = { disallowedSpecial: new Set<string>() }

/** What a conversation's frame costs in OpenAI's own counting: each message, and the beginning of the answer. */
const frameTokens = { message: 3, name: 1, answer: 3 } as const

/** Tokens of one text; see `TokenCounter`. */
export const countTokens = (text: string): number => new TokenCounter().count(text)

/**
 * Counts the texts of one request (o200k), in linear time and with one bound for all of them: however many parts a
 * request has, only so many characters are really tokenized, and what lies beyond counts like what came before it, or like ordinary text where that is
 * more, so that nobody makes the rest free with a cheap beginning.
 * Pieces end at a space where one is near, so that ordinary text counts within a few per cent of the whole; a text never
 * counts more than its UTF-8 bytes.
 */
export class TokenCounter {
  #characters = 0
  #tokens = 0

  count(text: string): number {
    const [tokens, at] = this.#tokenized(text)
    if (at >= text.length) return tokens
    const rest = text.slice(at)
    const bytes = Buffer.byteLength(rest)
    const likeBefore = Math.ceil((this.#tokens / Math.max(1, this.#characters)) * rest.length)
    return tokens + Math.min(Math.max(likeBefore, Math.ceil(bytes / bytesPerTokenAtMost)), bytes)
  }

  /** The tokens of the beginning that the bound lets through, and where it ends. */
  #tokenized(text: string): [tokens: number, at: number] {
    let tokens = 0
    let at = 0
    while (at < text.length && this.#characters < tokenizedCharacters) {
      const end = endOfPiece(text, at)
      const piece = countPiece(text.slice(at, end), asText)
      this.#characters += end - at
      this.#tokens += piece
      tokens += piece
      at = end
    }
    return [tokens, at]
  }
}

const space = 0x20

/** Where the piece of a text that begins at `start` ends. */
export function endOfPiece(text: string, start: number): number {
  const end = start + tokenizedPieceCharacters
  if (end >= text.length) return text.length
  for (let at = end; at > start + tokenizedPieceCharacters / 2; at--) if (text.charCodeAt(at) === space) return at
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** Prompt tokens of a request, for an engine that reports none. Media count by the bounds of this room. */
export function countPromptTokens(request: ChatCompletionRequest): number {
  const counter = new TokenCounter()
  const tools = request.tools?.length ? counter.count(JSON.stringify(request.tools)) : 0
  const schema = request.response_format?.type === 'json_schema' ? written(request.response_format, counter) : 0
  const frame = frameTokens.answer + tools + schema
  return request.messages.reduce((sum, message) => sum + messageTokens(message, counter), frame)
}

/** Whatever else a message says (calls, reasoning, members that only its engine knows) is part of the prompt as well. */
function messageTokens(message: ChatMessage, counter: TokenCounter): number {
  const { role: _role, content, name, ...others } = message
  const beside = Object.entries(others).filter(([member]) => member !== 'tool_call_id')
  return beside.reduce(
    (sum, [, value]) => sum + written(value, counter),
    frameTokens.message + (name ? frameTokens.name + counter.count(name) : 0) + contentTokens(content, counter),
  )
}

function written(value: unknown, counter: TokenCounter): number {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return 0
  return counter.count(typeof value === 'string' ? value : JSON.stringify(value))
}

function contentTokens(content: ChatMessage['content'], counter: TokenCounter): number {
  if (typeof content === 'string') return counter.count(content)
  return (
    content?.reduce((sum, part) => sum + (part.type === 'text' ? counter.count(part.text) : mediaTokens(part)), 0) ?? 0
  )
}

/** Tokens that a medium is taken for. A picture is as many by its address as by its bytes. */
export function mediaTokens(part: Exclude<ContentPart, { type: 'text' }>): number {
  switch (part.type) {
    case 'image_url':
      return imageTokens
    case 'input_audio':
      return imageTokens + Math.ceil(part.input_audio.data.length / audioBytesPerToken)
    case 'video_url':
      return imageTokens + Math.ceil(part.video_url.url.length / audioBytesPerToken)
    case 'file':
      return imageTokens + part.file.file_data.length
  }
}
