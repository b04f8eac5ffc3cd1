import { strangeId } from '#toolkit/from-outside.ts'
import { promptWordsCharacters } from '../bounds.ts'

/**
 * What a call without a price would buy, so that a person tells it from another: the first words of its prompt and its
 * service beside `what`. What has a price keeps its prompt to itself, because this is written down.
 */
export const callInShort = (what: string, body: unknown, origin: string): string =>
  [what, quoted(promptOf(body)), `at ${new URL(origin).host}`].filter(Boolean).join(' ')

/** The words are those of whoever calls, so no mark of theirs may end the quotation. */
function quoted(text: string): string {
  const words = firstWords(strangeId(text.slice(0, readCharacters).replaceAll(/["“”„«»]/g, ''), readCharacters))
  return words === '' ? '' : `“${words}”`
}

/** Whole ones, as far as there is room; a single one that is longer is cut. */
function firstWords(text: string): string {
  if (text.length <= promptWordsCharacters) return text
  const end = text.lastIndexOf(' ', promptWordsCharacters)
  return `${text
    .slice(0, end > 0 ? end : promptWordsCharacters)
    .trimEnd()
    .toWellFormed()}…`
}

/** More is not looked at; a prompt may be megabytes of blanks. */
const readCharacters = 4_096

/**
 * The text that a body is about: its prompt, its first input, the last message of a conversation, what is looked for or
 * read, or the first method of a batch; empty where none is.
 */
function promptOf(body: unknown): string {
  const [first] = [body].flat()
  const { prompt, input, messages, query, url, file, method } = isObject(first) ? first : {}
  const texts = [prompt, textOf(input), textOf(messages), query, url, nameOf(file), method]
  return texts.find(text => typeof text === 'string') ?? ''
}

/** A list is one of texts, of parts with a text, or of messages. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return undefined
  const last = value.at(-1)
  if (isObject(last) && last.content !== undefined) return textOf(last.content)
  return value.map(part => (isObject(part) ? part.text : part)).find(part => typeof part === 'string')
}

const nameOf = (file: unknown): string | undefined => (file instanceof File ? file.name : undefined)

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
