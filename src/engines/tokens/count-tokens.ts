import { setImmediate } from 'node:timers/promises'
import { countTokens as countPiece } from 'gpt-tokenizer/encoding/o200k_base'
import type { ChatCompletionRequest, ChatMessage, ContentPart } from '#contract/operations/chat.ts'

/**
 * The tokenizer is quadratic in the length of an unbroken run, so it gets a text in pieces of at most this many
 * characters.
 */
export const tokenizedPieceCharacters = 128

/**
 * Characters of a request that are actually tokenized: under 0.1 s in the worst script, because the process answers no
 * other request meanwhile.
 */
export const tokenizedCharacters = 32_768

/**
 * Ordinary text has 4 to 5 bytes per token; text that is not tokenized counts at least this many tokens, whatever
 * precedes it.
 */
const bytesPerTokenAtMost = 5

/** Tokens of an image in a prompt; large ones cost known models 800 to 4,000. */
export const imageTokens = 4_096

/**
 * Bytes of encoded speech per token: models take 10 to 25 tokens per second, and speech is rarely below 1 kB per
 * second.
 */
const audioBytesPerToken = 32

/** Spaces in a row that ordinary text has, as indentation; each further one counts as a token. */
const ordinaryBlanks = 32

/** Names of special tokens in a text count as text. */
const asText = { disallowedSpecial: new Set<string>() }

/** Overhead of a conversation by OpenAI's own counting: per message, and for the start of the answer. */
const frameTokens = { message: 3, name: 1, answer: 3 } as const

/** Counts the tokens of one text; see `TokenCounter`. */
export const countTokens = (text: string): number => new TokenCounter().count(text)

/**
 * Counts the tokens of one request's texts (o200k), in linear time and with one limit for all of them: however many
 * parts a request has, only a fixed number of characters is tokenized. The rest counts at the rate of the part before
 * it, or at that of ordinary text if that is higher, so that a cheap beginning does not make the rest free. Pieces end
 * at a space if one is near, so that ordinary text is counted within a few per cent; a text never counts more than its
 * UTF-8 bytes.
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

  /** Returns the tokens of the part within the limit, and where it ends. */
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

/** Returns where the piece of a text that begins at `start` ends. */
export function endOfPiece(text: string, start: number): number {
  const end = start + tokenizedPieceCharacters
  if (end >= text.length) return text.length
  for (let at = end; at > start + tokenizedPieceCharacters / 2; at--) if (text.charCodeAt(at) === space) return at
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** Counts the prompt tokens of a request, for an engine that reports none. Media count at this room's fixed rates. */
export function countPromptTokens(request: ChatCompletionRequest): number {
  const counter = new TokenCounter()
  const tools = request.tools?.length ? counter.count(JSON.stringify(request.tools)) : 0
  const schema = request.response_format?.type === 'json_schema' ? written(request.response_format, counter) : 0
  const frame = frameTokens.answer + tools + schema
  return request.messages.reduce((sum, message) => sum + messageTokens(message, counter), frame)
}

/** Everything else in a message (calls, reasoning, members that only its engine knows) is part of the prompt too. */
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

/** Returns the tokens that a media file counts for. An image counts the same as an address or as bytes. */
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

/** Characters that tokenizers never or rarely join: digits, signs, symbols. */
const alone = /[^\p{L}\p{M}\s]/gu
const longBlanks = new RegExp(`\\s{${ordinaryBlanks},}`, 'g')

/**
 * Counts the tokens of a text that is still arriving in deltas. Every character is tokenized about once, however small
 * the deltas are, and the count never falls. Unlike a prompt, the text has no limit, because the work is spread over
 * the stream. The engine may use another tokenizer, and the caller chooses the text, so each piece counts as the
 * largest of three: our tokens, one for each of its deltas, and what tokenizers with small vocabularies make of digits
 * and spaces.
 */
export class RunningCount {
  #counted = 0
  /** Text that may still become part of an unfinished piece, and the deltas that ended in it. */
  #rest = ''
  #restDeltas = 0
  #most = 0

  /** Adds one delta. An empty one is a token whose text the engine held back. */
  push(text: string): void {
    if (!text) {
      this.#counted++
      return
    }
    this.#rest += text
    let deltas = this.#restDeltas
    while (this.#rest.length > tokenizedPieceCharacters) {
      const end = endOfPiece(this.#rest, 0)
      this.#counted += Math.max(textTokens(this.#rest.slice(0, end)), deltas)
      this.#rest = this.#rest.slice(end)
      deltas = 0
    }
    this.#restDeltas = deltas + 1
  }

  /** The count so far. An unfinished word counts as one token, because its end may reduce the count. */
  get soFar(): number {
    const begun = /\s*\S*$/.exec(this.#rest)?.index ?? 0
    const word = begun < this.#rest.length ? 1 : 0
    const tokens = this.#counted + Math.max(textTokens(this.#rest.slice(0, begun)) + word, this.#restDeltas)
    this.#most = Math.max(this.#most, tokens)
    return this.#most
  }

  /** The count of the whole text, once it has ended. */
  get whole(): number {
    return Math.max(this.#most, this.#counted + Math.max(textTokens(this.#rest), this.#restDeltas))
  }

  /** The count as if this delta came and nothing after it. */
  wholeWith(text: string): number {
    return Math.max(this.#most, this.#counted + Math.max(textTokens(this.#rest + text), this.#restDeltas + 1))
  }
}

/** Counts a generated text that arrived in one piece. A long one is counted in turns with other work. */
export async function countGenerated(text: string): Promise<number> {
  const count = new RunningCount()
  for (let at = 0; at < text.length; at += tokenizedCharacters) {
    if (at > 0) await setImmediate()
    count.push(text.slice(at, at + tokenizedCharacters))
  }
  return count.whole
}

function textTokens(text: string): number {
  if (!text) return 0
  const blanks = text.match(longBlanks)?.reduce((sum, run) => sum + run.length, 0) ?? 0
  return Math.max(countTokens(text), (text.match(alone)?.length ?? 0) + blanks)
}
