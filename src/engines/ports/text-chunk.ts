import { randomUUID } from 'node:crypto'
import type { ChatCompletionChunk } from '#contract/operations/chat.ts'

/** Members of a delta into which engines write text. */
const textMembers = ['content', 'reasoning_content', 'reasoning'] as const

type TextMember = (typeof textMembers)[number]

/**
 * The common part of a stream's chunks that differ only in their text, as almost all do. Each chunk after the first is
 * recognized by the characters around its text, so it is not parsed, validated and printed again.
 */
export class ChunkShape {
  /** One such chunk, complete. */
  readonly chunk: ChatCompletionChunk
  readonly index: number
  readonly member: TextMember
  /** The JSON on both sides of the text, without its quotation marks. */
  readonly before: string
  readonly after: string
  #shown: { model: string; shape: ChunkShape } | null = null

  private constructor(chunk: ChatCompletionChunk, member: TextMember, [before, after]: readonly [string, string]) {
    this.chunk = chunk
    this.index = chunk.choices[0]?.index ?? 0
    this.member = member
    this.before = before
    this.after = after
  }

  /** Returns the shape of a chunk and its JSON; null if more than one text may change between chunks. */
  static of(chunk: ChatCompletionChunk, json: string): ChunkShape | null {
    const member = onlyText(chunk)
    if (member === null) return null
    const name = `"${member}":`
    const at = json.indexOf(name)
    if (at < 0 || json.indexOf(name, at + 1) >= 0) return null
    const start = json.indexOf('"', at + name.length) + 1
    if (start === 0 || json.slice(at + name.length, start - 1).trim() !== '') return null
    const escaped = /^(?:[^"\\]|\\.)*/.exec(json.slice(start))?.[0] ?? ''
    if (textOf(escaped) !== chunk.choices[0]?.delta[member]) return null
    return new ChunkShape(chunk, member, [json.slice(0, start), json.slice(start + escaped.length)])
  }

  /** Returns the chunk for this JSON, if it has this shape. */
  read(json: string): TextChunk | null {
    const { before, after } = this
    if (!json.startsWith(before) || !json.endsWith(after)) return null
    const escaped = json.slice(before.length, json.length - after.length)
    return escapedText.test(escaped) ? new TextChunk(this, escaped) : null
  }

  /** Returns the shape with another model id, as callers see it. */
  as(model: string): ChunkShape {
    if (this.#shown?.model === model) return this.#shown.shape
    const { usage: _none, ...chunk } = this.chunk
    const shown = { ...chunk, model }
    const marked = JSON.stringify({ ...shown, choices: this.choicesWith(mark) })
    const [before = '', after = ''] = marked.split(mark)
    const shape = new ChunkShape(shown, this.member, [before, after])
    this.#shown = { model, shape }
    return shape
  }

  choicesWith(text: string): ChatCompletionChunk['choices'] {
    return this.chunk.choices.map(choice => ({ ...choice, delta: { ...choice.delta, [this.member]: text } }))
  }
}

/** Takes the place of a chunk's text while the JSON around it is printed; no engine can guess it. */
const mark = randomUUID()

/** The content of a JSON string with at least one character. */
const escapedText = /^(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+$/u

const textOf = (escaped: string): string => (escaped.includes('\\') ? JSON.parse(`"${escaped}"`) : escaped)

/**
 * Returns the member that holds all the content of a chunk with one choice; null if there is other content, an end or a
 * usage.
 */
function onlyText({ choices, usage }: ChatCompletionChunk): TextMember | null {
  const [choice, another] = choices
  if (!choice || another || choice.finish_reason || usage) return null
  const said = Object.entries(choice.delta).filter(([name, value]) => name !== 'role' && !isNothing(value))
  const [name, value] = said[0] ?? []
  if (said.length !== 1 || typeof value !== 'string') return null
  return textMembers.find(member => member === name) ?? null
}

const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

/** A chunk made of its shape and a text; its members are created only when they are read. */
export class TextChunk implements ChatCompletionChunk {
  [member: string]: unknown
  readonly usage = undefined
  readonly shape: ChunkShape
  /** The text as escaped in JSON. */
  readonly escaped: string

  constructor(shape: ChunkShape, escaped: string) {
    this.shape = shape
    this.escaped = escaped
  }

  get text(): string {
    return textOf(this.escaped)
  }

  get id(): string {
    return this.shape.chunk.id
  }

  get object(): 'chat.completion.chunk' {
    return 'chat.completion.chunk'
  }

  get created(): number {
    return this.shape.chunk.created
  }

  get model(): string {
    return this.shape.chunk.model
  }

  get choices(): ChatCompletionChunk['choices'] {
    return this.shape.choicesWith(this.text)
  }

  /** A plain object with the same members. */
  get whole(): ChatCompletionChunk {
    return { ...this.shape.chunk, choices: this.choices }
  }

  toJSON(): ChatCompletionChunk {
    return this.whole
  }

  /** Returns it as a caller sees it, with this model id. */
  as(model: string): TextChunk {
    return new TextChunk(this.shape.as(model), this.escaped)
  }

  get json(): string {
    return `${this.shape.before}${this.escaped}${this.shape.after}`
  }
}

/** Returns a plain object for what may be a `TextChunk`, whose members are not its own. */
export const wholeChunk = (chunk: ChatCompletionChunk): ChatCompletionChunk =>
  chunk instanceof TextChunk ? chunk.whole : chunk
