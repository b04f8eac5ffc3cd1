/**
 * JSON from outside. `JSON.parse` takes nesting that a recursive reader then dies of, lets the last of two equal names
 * win, and makes `__proto__` a member that a careless copy turns into a prototype.
 */

type ParsedJson = { ok: true; value: unknown } | { ok: false; reason: string }

/**
 * For bodies: refuses nesting deeper than `maximumDepth` and more than `maximumValues` members and items at all levels,
 * both before anything is made of the text; drops members named `__proto__`.
 */
export function parseJson(text: string, maximumDepth: number, maximumValues = Number.POSITIVE_INFINITY): ParsedJson {
  const reason = mayExceed(text, maximumDepth, maximumValues) ? excess(text, maximumDepth, maximumValues) : null
  if (reason !== null) return { ok: false, reason }
  try {
    return { ok: true, value: JSON.parse(text, mayNamePrototype(text) ? withoutPrototype : undefined) }
  } catch {
    return { ok: false, reason: 'is not JSON' }
  }
}

/** For credentials and payments: as `parseJson`, and no object may say a name twice. */
export function parseJsonWithUniqueNames(text: string, maximumDepth: number): ParsedJson {
  const parsed = parseJson(text, maximumDepth)
  if (!parsed.ok) return parsed
  const repeated = repeatedName(text)
  return repeated === null ? parsed : { ok: false, reason: `has the member ${JSON.stringify(repeated)} twice` }
}

/** An escape may spell the name as well, so any of them takes the slow way. */
const mayNamePrototype = (text: string): boolean => text.includes('__proto__') || text.includes('\\u')

const withoutPrototype = (name: string, value: unknown): unknown => (name === '__proto__' ? undefined : value)

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const comma = 0x2c
const jsonSpace: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/** Index just after the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at++
    else if (code === quote) return at + 1
  }
  return at
}

/** Whether a closer look is needed: most texts open fewer lists and objects than may lie in each other. */
function mayExceed(text: string, maximumDepth: number, maximumValues: number): boolean {
  return text.length > maximumValues || openings(text, '{', openings(text, '[', maximumDepth)) < 0
}

/** So many of these characters are left after those of a text; below zero where it has more. */
function openings(text: string, character: string, most: number): number {
  let left = most
  for (let at = text.indexOf(character); at >= 0 && left >= 0; at = text.indexOf(character, at + 1)) left--
  return left
}

/** One pass over the characters, cheap enough for every body. What holds values has one more of them than commas. */
function excess(text: string, maximumDepth: number, maximumValues: number): string | null {
  let depth = 0
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at) - 1
    else if (code === comma) values++
    else if (code === 0x7b || code === 0x5b) {
      depth++
      values++
      if (depth > maximumDepth) return `nests deeper than ${maximumDepth} levels`
    } else if (code === 0x7d || code === 0x5d) depth--
    if (values > maximumValues) return `has more than ${maximumValues} values; send fewer at once`
  }
  return null
}

/** The first name that an object of this valid JSON has twice, or null. */
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

/** Whether this string is a member's name; any white space may stand between. */
function isBeforeColon(text: string, end: number): boolean {
  let at = end
  while (jsonSpace.has(text.charCodeAt(at))) at++
  return text.charCodeAt(at) === colon
}

/** JSON in which equal values are equal texts, in whatever order their members were written; for hashes, never for the wire. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join()}}`
}
