import { isDeepStrictEqual } from 'node:util'
import { parse, stringify, TomlError } from 'smol-toml'
import type { Entry } from './clients.ts'
import { ConfigFault } from './edit-json.ts'

type Table = Record<string, unknown>

/** Returns the entry of a TOML text; undefined if there is none. Throws a `ConfigFault`. */
export function tomlAt(text: string, [list, name]: readonly [string, string]): unknown {
  const tables = tablesIn(text)[list]
  return isTable(tables) ? tables[name] : undefined
}

/**
 * Returns the text with the entry as tables at the end, or in place of existing ones. No other line changes, which is
 * verified by parsing before and after.
 */
export function putToml(text: string, keys: readonly [string, string], entry: Entry): string {
  const old = tomlAt(text, keys)
  const merged = isTable(old) ? merge(old, entry) : entry
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const block = stringify({ [keys[0]]: { [keys[1]]: merged } })
    .trimEnd()
    .replaceAll('\n', eol)
  const { before, after } = around(text, keys)
  const head = before === '' ? '' : `${before.trimEnd()}${eol}${eol}`
  const changed =
    after.trim() === '' ? `${head}${block}${eol}` : `${head}${block}${eol}${after.replace(/^(?!\r?\n)/, eol)}`
  return checked(text, changed, keys, merged)
}

/** Returns the text without the tables of the entry. */
export function withoutToml(text: string, keys: readonly [string, string]): string {
  if (tomlAt(text, keys) === undefined) return text
  const { before, after } = around(text, keys)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const head = before.trimEnd()
  const tail = after.replace(/^(?:\r?\n)+/, '')
  const gap = head === '' ? '' : tail === '' ? eol : `${eol}${eol}`
  return checked(text, `${head}${gap}${tail}`, keys, undefined)
}

const isTable = (value: unknown): value is Table => typeof value === 'object' && value !== null && !Array.isArray(value)

function merge(old: Table, entry: Entry): Table {
  const merged = { ...old }
  for (const [name, value] of Object.entries(entry)) {
    const there = merged[name]
    merged[name] = isTable(there) && isTable(value) ? { ...there, ...value } : value
  }
  return merged
}

function tablesIn(text: string): Table {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.split('\n')
    throw new ConfigFault(error.line, `it is not valid TOML (${reason.replace(/^Invalid TOML document: /, '')})`)
  }
}

/** Returns the text before and after the tables of an entry; comments above the next table belong to that one. */
function around(text: string, [list, name]: readonly [string, string]): { before: string; after: string } {
  const lines = text.split(/(?<=\n)/)
  const key = (word: string) => `(?:${word}|"${word}"|'${word}')`
  const ours = new RegExp(`^\\s*\\[\\s*${key(list)}\\s*\\.\\s*${key(name)}\\s*(?:\\.[^\\]]*)?\\]`)
  const kept: string[] = []
  let first: number | null = null
  for (let at = 0; at < lines.length; ) {
    if (!ours.test(lines[at] ?? '')) {
      kept.push(lines[at++] ?? '')
      continue
    }
    first ??= kept.length
    let end = at + 1
    while (end < lines.length && !/^\s*\[/.test(lines[end] ?? '')) end++
    while (end > at + 1 && /^\s*(?:#.*)?$/.test(lines[end - 1] ?? '')) end--
    at = end
  }
  if (first === null) return { before: text, after: '' }
  return { before: kept.slice(0, first).join(''), after: kept.slice(first).join('') }
}

/** Returns the change if a parser reads it as intended. Only a parser detects tables within a line or a string. */
function checked(text: string, changed: string, [list, name]: readonly [string, string], entry: unknown): string {
  const others = (tables: Table): Table => {
    const { [list]: servers, ...rest } = tables
    const { [name]: _, ...kept } = isTable(servers) ? servers : {}
    return { ...rest, [list]: kept }
  }
  try {
    const read = tablesIn(changed)
    if (
      isDeepStrictEqual(plain(others(read)), plain(others(tablesIn(text)))) &&
      isDeepStrictEqual(plain(tomlAt(changed, [list, name])), plain(entry))
    )
      return changed
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
  }
  const line = text.split('\n').findIndex(each => each.includes(list)) + 1
  throw new ConfigFault(Math.max(1, line), `\`${list}\` is written in a way that cannot be edited safely`)
}

/** Removes the parser's own classes and prototypes. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))
