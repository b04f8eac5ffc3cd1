import { Buffer } from 'node:buffer'
import type { z } from 'zod'
import { headerBytes } from '../limits.ts'
import { formatUsd, isCredibleUsd, type MicroUsd, parseUsd } from '../money.ts'
import { parseJsonWithUniqueNames } from './json.ts'

export interface HeaderSchema {
  type: 'string' | 'integer'
  format?: 'date' | 'date-time' | 'byte'
  pattern?: string
  enum?: string[]
}

/** Formats and parses one header. `parse` returns null for anything invalid; it never throws. */
export interface HeaderCodec<Value> {
  name: string
  /** When a response carries it (brief §9). */
  when: string
  /** Its value as a schema of the description (OpenAPI). */
  schema: HeaderSchema
  format(value: Value): string
  parse(text: string): Value | null
}

type Make<Value> = (name: string, when: string) => HeaderCodec<Value>

// Control characters would split a response, and a header cannot hold anything beyond Latin-1: servers throw on it.
const headerText = /^[\t\x20-\x7e\xa0-\xff]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controlCharacters = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g
const beyondLatin = /[^\t\x20-\x7e\xa0-\xff]+/gu

export const textHeader: Make<string> = (name, when) => ({
  name,
  when,
  schema: { type: 'string' },
  format: value => (headerText.test(value) ? value : value.replace(controlCharacters, ' ').replace(beyondLatin, '?')),
  parse: text => (text.length <= headerBytes && headerText.test(text) ? text : null),
})

/** Text with a fixed pattern, which is part of the contract. */
export const patternHeader =
  (pattern: RegExp): Make<string> =>
  (name, when) => ({
    name,
    when,
    schema: { type: 'string', pattern: pattern.source },
    format: value => value,
    parse: text => (pattern.test(text) ? text : null),
  })

export const integerHeader: Make<number> = (name, when) => ({
  name,
  when,
  schema: { type: 'integer' },
  format: value => Math.trunc(value).toString(),
  parse: text => (/^\d{1,15}$/.test(text) ? Number(text) : null),
})

export const booleanHeader: Make<boolean> = (name, when) => ({
  name,
  when,
  schema: { type: 'string', enum: ['true', 'false'] },
  format: value => (value ? 'true' : 'false'),
  parse: text => (text === 'true' ? true : text === 'false' ? false : null),
})

export const usdHeader: Make<MicroUsd> = (name, when) => ({
  name,
  when,
  schema: { type: 'string', pattern: '^-?[0-9]+[.][0-9]{6}$' },
  format: formatUsd,
  parse: text => {
    const amount = parseUsd(text)
    return amount !== null && isCredibleUsd(amount) ? amount : null
  },
})

const picoPerShown = 10_000n
const shownPerUsd = 100_000_000n

/** USD with eight decimals, for amounts below a micro-USD; the value is in pico-USD. */
export const picoUsdHeader: Make<bigint> = (name, when) => ({
  name,
  when,
  schema: { type: 'string', pattern: '^[0-9]+[.][0-9]{8}$' },
  format: value => {
    const shown = value / picoPerShown
    return `${shown / shownPerUsd}.${(shown % shownPerUsd).toString().padStart(8, '0')}`
  },
  parse: text => {
    const [, whole, fraction] = /^(\d{1,9})[.](\d{8})$/.exec(text) ?? []
    return whole && fraction ? (BigInt(whole) * shownPerUsd + BigInt(fraction)) * picoPerShown : null
  },
})

/** ISO 8601 with milliseconds and `Z`; the value is Unix time in milliseconds. */
export const timestampHeader: Make<number> = (name, when) => ({
  name,
  when,
  schema: { type: 'string', format: 'date-time' },
  format: value => new Date(value).toISOString(),
  parse: text => {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$/.test(text)) return null
    const milliseconds = Date.parse(text)
    return Number.isNaN(milliseconds) ? null : milliseconds
  },
})

/**
 * `Sun, 06 Nov 1994 08:49:37 GMT`, the only form of RFC 7231 still in use; Unix time in milliseconds, whole seconds.
 */
export const httpDateHeader: Make<number> = (name, when) => ({
  name,
  when,
  schema: { type: 'string' },
  format: value => new Date(value).toUTCString(),
  parse: text => {
    const milliseconds = Date.parse(text)
    return !Number.isNaN(milliseconds) && new Date(milliseconds).toUTCString() === text ? milliseconds : null
  },
})

/** An ISO 8601 date without a time (brief §9.4); a date-time is accepted too. */
export const dateHeader: Make<string> = (name, when) => ({
  name,
  when,
  schema: { type: 'string', format: 'date' },
  format: value => value.slice(0, 10),
  parse: text => {
    const date = /^(\d{4}-\d\d-\d\d)(T.*)?$/.exec(text)?.[1]
    return date && !Number.isNaN(Date.parse(date)) ? date : null
  },
})

export const choiceHeader =
  <const Choice extends string>(choices: readonly Choice[]): Make<Choice> =>
  (name, when) => ({
    name,
    when,
    schema: { type: 'string', enum: [...choices] },
    format: value => value,
    parse: text => choices.find(choice => choice === text) ?? null,
  })

/** Base64 of JSON, as in every x402 header. Decoding is strict: one text per value, bounded in size and depth. */
export const base64JsonHeader = <Schema extends z.ZodType>(
  schema: Schema,
  name: string,
  when: string,
): HeaderCodec<z.output<Schema>> => ({
  name,
  when,
  schema: { type: 'string', format: 'byte' },
  format: value => Buffer.from(JSON.stringify(value)).toString('base64'),
  parse: text => {
    const json = decodeBase64Json(text)
    const parsed = json.ok ? schema.safeParse(json.value) : null
    return parsed?.success ? parsed.data : null
  },
})

const base64Depth = 32

type DecodedJson = { ok: true; value: unknown } | { ok: false; reason: string }

/** Decodes base64 (standard or URL-safe, padded or not) of UTF-8 JSON; bits that no encoder writes are rejected. */
export function decodeBase64Json(text: string): DecodedJson {
  if (text.length === 0) return { ok: false, reason: 'is empty' }
  if (text.length > headerBytes) return { ok: false, reason: `is longer than ${headerBytes} bytes` }
  const bytes = base64Bytes(text)
  if (!bytes) return { ok: false, reason: 'is not base64' }
  try {
    return parseJsonWithUniqueNames(new TextDecoder('utf-8', { fatal: true }).decode(bytes), base64Depth)
  } catch {
    return { ok: false, reason: 'is not UTF-8' }
  }
}

function base64Bytes(text: string): Buffer | null {
  const usual = Buffer.from(text, 'base64')
  // The form that nearly every encoder writes, which needs no check of each letter.
  if (usual.toString('base64') === text) return usual
  const bare = /^([A-Za-z0-9+/_-]+)(={0,2})$/.exec(text)
  if (!bare?.[1] || (bare[2] && text.length % 4 !== 0)) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64url') === bare[1].replaceAll('+', '-').replaceAll('/', '_') ? bytes : null
}

/** Returns every value of a request header, by its name in the contract's words. */
export type HeaderReader = (name: string) => readonly string[]
