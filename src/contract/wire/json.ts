/**
 * Parses untrusted JSON. `JSON.parse` accepts nesting that overflows a recursive reader, lets the last of two equal
 * names win, and creates a `__proto__` member that a careless copy turns into a prototype.
 */

type ParsedJson = { ok: true; value: unknown } | { ok: false; reason: string }

/** How many values a text may have at all levels, and how many of them may be members of objects. */
interface MostValues {
  values: number
  members: number
}

const unlimited: MostValues = { values: Number.POSITIVE_INFINITY, members: Number.POSITIVE_INFINITY }

/**
 * For bodies. Rejects nesting deeper than `maximumDepth`, and more than `most` members and items at all levels, before
 * the text is parsed; drops members named `__proto__`.
 */
export function parseJson(text: string, maximumDepth: number, most: MostValues = unlimited): ParsedJson {
  const reason = mayExceed(text, maximumDepth, most) ? excess(text, maximumDepth, most) : null
  if (reason !== null) return { ok: false, reason }
  try {
    const value: unknown = JSON.parse(text)
    if (mayNamePrototype(text)) dropPrototype(value)
    return { ok: true, value }
  } catch {
    return { ok: false, reason: 'is not JSON' }
  }
}

/** For credentials and payments: like `parseJson`, but no object may repeat a name. */
export function parseJsonWithUniqueNames(text: string, maximumDepth: number): ParsedJson {
  const parsed = parseJson(text, maximumDepth)
  if (!parsed.ok) return parsed
  const repeated = repeatedName(text)
  return repeated === null ? parsed : { ok: false, reason: `has the member ${JSON.stringify(repeated)} twice` }
}

/** For text whose length is limited already. Returns undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns null if the bytes are not UTF-8. A byte order mark stays in the text. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}

/** Decodes `%20` and the like; a text with an invalid escape stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Whether a parsed value has members by name; a list has not. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The name may also be written with an escape. */
const mayNamePrototype = (text: string): boolean => text.includes('__proto__') || text.includes('\\u')

/** A reviver of `JSON.parse` would take several times as long. */
function dropPrototype(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__')
  for (const member of Object.values(value)) dropPrototype(member)
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const comma = 0x2c
const jsonSpace: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/** Returns the index after the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  // Media as base64 are long strings without escapes, which a search passes four times as fast.
  const first = text.indexOf('"', start + 1)
  if (first < 0) return text.length
  if (text.charCodeAt(first - 1) !== backslash) return first + 1
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at++
    else if (code === quote) return at + 1
  }
  return at
}

/** Whether an exact count is needed: most texts open fewer lists and objects than the depth allows. */
function mayExceed(text: string, maximumDepth: number, { values, members }: MostValues): boolean {
  return text.length > Math.min(values, members) || openings(text, '{', openings(text, '[', maximumDepth)) < 0
}

/** Returns how many of these characters may still follow; below zero if the text has too many. */
function openings(text: string, character: string, most: number): number {
  let left = most
  for (let at = text.indexOf(character); at >= 0 && left >= 0; at = text.indexOf(character, at + 1)) left--
  return left
}

/**
 * Counts in one pass over the characters, cheap enough for every body. A non-empty list or object has one more value
 * than commas.
 */
function excess(text: string, maximumDepth: number, most: MostValues): string | null {
  let depth = 0
  let values = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at) - 1
    else if (code === comma) values++
    else if (code === colon) members++
    else if (code === 0x7b || code === 0x5b) {
      depth++
      values++
      if (depth > maximumDepth) return `nests deeper than ${maximumDepth} levels`
    } else if (code === 0x7d || code === 0x5d) depth--
    if (values > most.values) return `has more than ${most.values} values; send fewer at once`
    if (members > most.members) return `has more than ${most.members} members of objects; send fewer at once`
  }
  return null
}

/** Returns the first name that an object of this valid JSON repeats, or null. */
function repeatedName(text: string): string | null {
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '{') open.push(new Set())
    else if (character === '[') open.push(null)
    else if (character === '}' || character === ']') open.pop()
    else if (character === '"') {
      const end = endOfString(text, at)
      const names = open.at(-1)
      if (names && isBeforeColon(text, end)) {
        const name: string = JSON.parse(text.slice(at, end))
        if (names.has(name)) return name
        names.add(name)
      }
      at = end - 1
    }
  }
  return null
}

/** Whether this string is a member's name; white space may come before the colon. */
function isBeforeColon(text: string, end: number): boolean {
  let at = end
  while (jsonSpace.has(text.charCodeAt(at))) at++
  return text.charCodeAt(at) === colon
}

/**
 * Returns JSON that is the same for equal values, in whatever order their members were written; for hashes, never for
 * the wire.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  let members = ''
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name)
    if (member !== undefined) members += `${members && ','}${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return `{${members}}`
}
