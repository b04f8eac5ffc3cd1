import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, parseDocument, type Scalar } from 'yaml'
import { type ConfigPath, configAliases } from '#service/config/config-values.ts'

/** What one edit writes at a path: a plain value, or nothing to remove the setting. */
export interface YamlEdit {
  path: ConfigPath
  value: string | number | boolean | undefined
}

/** The file cannot be edited without changing something else, such as a value that an alias shares. */
export class YamlLayoutError extends Error {}

/**
 * Makes edits in a text of YAML, and changes no other byte of it: comments, quotes and indentation stay. The result is
 * parsed again and compared with what the edits should do. Throws `YamlLayoutError` if they differ. Each edit parses the
 * whole text, so callers of the service get their turn between two.
 */
export async function editYaml(text: string, edits: readonly YamlEdit[]): Promise<string> {
  const wanted = edits.reduce<unknown>((value, edit) => withEdit(value, edit.path, edit.value), plainOf(text))
  let edited = text
  for (const edit of edits) {
    await setImmediate()
    edited = editOnce(edited, edit)
  }
  if (!isDeepStrictEqual(plainOf(edited), wanted)) throw new YamlLayoutError()
  return edited
}

const parsed = (text: string): Document.Parsed => parseDocument(text, { merge: true })

function plainOf(text: string): unknown {
  const document = parsed(text)
  if (document.errors.length > 0) throw new YamlLayoutError()
  return document.toJS({ maxAliasCount: configAliases }) ?? {}
}

/** The value of the whole file after an edit. If removing a setting leaves a map empty, the map is removed too. */
function withEdit(inside: unknown, [part, ...rest]: ConfigPath, value: YamlEdit['value']): unknown {
  if (part === undefined) return value
  if (Array.isArray(inside)) return inside.map((item, at) => (at === part ? withEdit(item, rest, value) : item))
  const map = { ...(inside as Record<string, unknown> | undefined) }
  const edited = withEdit(map[part], rest, value)
  if (edited === undefined) delete map[part]
  else map[part] = edited
  return value === undefined && Object.keys(map).length === 0 ? undefined : map
}

interface Found {
  /** Maps and lists from the outermost to the innermost that exists, and in each the pair of the path if it is a map. */
  steps: { node: unknown; pair: Pair<Scalar, unknown> | null }[]
  /** How many parts of the path exist. */
  depth: number
}

function find(document: Document.Parsed, path: ConfigPath): Found {
  const steps: Found['steps'] = []
  let node: unknown = document.contents
  for (const [depth, part] of path.entries()) {
    // A value that is defined elsewhere may belong to other settings too.
    if (isAlias(node)) throw new YamlLayoutError()
    const pair = isMap(node) ? (node.items.find(({ key }) => isScalar(key) && key.value === part) ?? null) : null
    const inside = isSeq(node) && typeof part === 'number' ? node.items[part] : pair?.value
    steps.push({ node, pair: pair as Pair<Scalar, unknown> | null })
    if (inside === undefined || (isScalar(inside) && inside.value === null && depth < path.length - 1))
      return { steps, depth }
    node = inside
  }
  return { steps, depth: path.length }
}

function editOnce(text: string, { path, value }: YamlEdit): string {
  const document = parsed(text)
  const found = find(document, path)
  if (value === undefined) return found.depth < path.length ? text : removed(text, found)
  const last = found.steps.at(-1)
  const target = last?.pair?.value
  if (found.depth === path.length) {
    if (!isScalar(target) || !target.range) throw new YamlLayoutError()
    const [start, end] = target.range
    return splice(text, start, end, start === end ? ` ${shown(value)}` : shown(value))
  }
  return inserted(text, found, path.slice(found.depth), value)
}

const splice = (text: string, start: number, end: number, put: string): string =>
  text.slice(0, start) + put + text.slice(end)

/** Words stay plain; numbers and booleans are themselves. */
const shown = (value: YamlEdit['value']): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** A name as a key: in quotes unless it can only be read as a name. */
const keyText = (part: string | number): string =>
  /^[A-Za-z_][\w.-]*$/.test(`${part}`) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(`${part}`)
    ? `${part}`
    : JSON.stringify(`${part}`)

/** `types: { image: { requestsPerMinute: 10 } }` */
const pairText = ([first = '', ...rest]: ConfigPath, value: YamlEdit['value']): string =>
  `${keyText(first)}: ${rest.length > 0 ? `{ ${pairText(rest, value)} }` : shown(value)}`

function inserted(text: string, { steps, depth }: Found, rest: ConfigPath, value: YamlEdit['value']): string {
  const { node, pair } = steps[depth] ?? { node: null, pair: null }
  const put = pairText(rest, value)
  if (pair) {
    // `limits:` without a value.
    const at = isScalar(pair.value) ? pair.value.range?.[0] : undefined
    if (at === undefined || rest.length < 2) throw new YamlLayoutError()
    return splice(
      text,
      at,
      isScalar(pair.value) ? (pair.value.range?.[1] ?? at) : at,
      ` { ${pairText(rest.slice(1), value)} }`,
    )
  }
  if (!isMap(node) || !node.range) throw new YamlLayoutError()
  if (node.flow) {
    const after = node.range[0] + 1
    return splice(text, after, after, node.items.length > 0 ? ` ${put},` : ` ${put} `)
  }
  const [first] = node.items as Pair<Scalar, unknown>[]
  const keyAt = first?.key.range?.[0]
  if (keyAt === undefined) throw new YamlLayoutError()
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  if (depth === 0) return `${text.replace(/\s*$/, '')}${newline}${put}${newline}`
  const indent = ' '.repeat(keyAt - (text.lastIndexOf('\n', keyAt - 1) + 1))
  // In a list's item, after its first line, which has the dash; in any other map, before everything, next to the map's
  // name.
  const isItem = isSeq(steps[depth - 1]?.node)
  const before = isItem ? first?.value : steps[depth - 1]?.pair?.key
  const line = isScalar(before) ? before.range?.[1] : undefined
  if (line === undefined) throw new YamlLayoutError()
  const end = endOfLine(text, line)
  return splice(text, end, end, `${newline}${indent}${put}`)
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  if (end < 0) return text.length
  return text[end - 1] === '\r' ? end - 1 : end
}

function removed(text: string, { steps }: Found): string {
  const holders = steps.flatMap(({ node, pair }) => (isMap(node) && pair ? [{ map: node, pair }] : []))
  // A map that would become empty is removed too, but never an item of a list.
  let at = holders.length - 1
  while (at > 0 && holders[at]?.map.items.length === 1 && holders[at - 1]?.pair.value === holders[at]?.map) at--
  const { map, pair } = holders[at] ?? {}
  const value = pair?.value
  const start = pair?.key.range?.[0]
  const end = isScalar(value) || isMap(value) ? value.range?.[1] : undefined
  if (!map || start === undefined || end === undefined) throw new YamlLayoutError()
  if (map.flow) {
    const comma = /^\s*,[ \t]*/.exec(text.slice(end))?.[0]
    if (comma !== undefined) return splice(text, start, end + comma.length, '')
    const before = /,\s*$/.exec(text.slice(0, start))?.[0].length ?? 0
    return splice(text, start - before, end, '')
  }
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  if (text.slice(lineStart, start).trim() !== '') throw new YamlLayoutError()
  // A block ends with its last line; a value, before the rest of its line.
  const lineEnd = text.indexOf('\n', text[end - 1] === '\n' ? end - 1 : end)
  return splice(text, lineStart, lineEnd < 0 ? text.length : lineEnd + 1, '')
}
