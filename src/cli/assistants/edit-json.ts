import { isDeepStrictEqual } from 'node:util'
import { createScanner, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { isObject } from '#contract/wire/json.ts'

/** Why a configuration cannot be edited, and on which line, counted from 1. */
export class ConfigFault extends Error {
  override readonly name = 'ConfigFault'
  readonly line: number

  constructor(line: number, reason: string) {
    super(reason)
    this.line = line
  }
}

type Path = readonly string[]

/** Returns the value at a path of JSON with or without comments; undefined if there is none. Throws a `ConfigFault`. */
export function jsonAt(text: string, path: Path): unknown {
  const node = nodeAt(text, path)
  return node && getNodeValue(node)
}

/**
 * Returns the text with a value at a path. Objects are merged, so that a user's own members stay; every other character
 * is unchanged, including comments.
 */
export function putJson(text: string, path: Path, value: unknown): string {
  const whole = text.trim() === '' ? `{}${text.includes('\n') || text === '' ? '\n' : ''}` : text
  return put(whole, path, value)
}

function put(text: string, path: Path, value: unknown): string {
  const node = nodeAt(text, path)
  if (!node) {
    const above = path.slice(0, -1)
    const name = path.at(-1) ?? ''
    if (!nodeAt(text, above)) return put(text, above, { [name]: value })
    return insertInto(text, objectAt(text, above), layout => `${JSON.stringify(name)}: ${render(value, layout)}`)
  }
  if (isObject(value) && node.type === 'object') {
    return Object.entries(value).reduce((changed, [name, member]) => put(changed, [...path, name], member), text)
  }
  if (isDeepStrictEqual(getNodeValue(node), value)) return text
  const layout = layoutAt(text, node)
  const isOneLine = !text.slice(node.offset, node.offset + node.length).includes('\n')
  return replace(text, node.offset, node.length, render(value, { ...layout, indent: isOneLine ? null : layout.line }))
}

/** Returns the text with one more item in the list at a path, unless it has an item with the same id. */
export function addJsonItem(text: string, path: Path, item: Readonly<{ id: string }>): string {
  const list = nodeAt(text, path)
  if (!list) return putJson(text, path, [item])
  if (list.type !== 'array') throw new ConfigFault(lineAt(text, list.offset), `\`${path.join('.')}\` is not a list`)
  const items = getNodeValue(list) as { id?: unknown }[]
  return items.some(({ id }) => id === item.id) ? text : insertInto(text, list, layout => render(item, layout))
}

/** Returns the text without the member at a path, and otherwise unchanged. */
export function withoutJson(text: string, path: Path): string {
  const node = nodeAt(text, path)?.parent
  return node ? removeFrom(text, node) : text
}

/** Returns the text without the list item with this id. */
export function withoutJsonItem(text: string, path: Path, id: string): string {
  const items = nodeAt(text, path)?.children ?? []
  const item = items.find(each => (getNodeValue(each) as { id?: unknown } | null)?.id === id)
  return item ? removeFrom(text, item) : text
}

/** Replaces every literal outside the path with dots, because it may be a secret. */
export function hideValues(text: string, path: Path): string {
  const kept = nodeAt(text, path)
  const hidden = text.trim() === '' ? [] : literalsOf(treeOf(text)).filter(node => !kept || !isWithin(node, kept))
  return hidden.reduceRight((shown, { offset, length }) => replace(shown, offset, length, '"…"'), text)
}

const literalsOf = (node: Node): Node[] => {
  if (node.type === 'property') return node.children?.slice(1).flatMap(literalsOf) ?? []
  return node.children ? node.children.flatMap(literalsOf) : [node]
}

const isWithin = (node: Node, outer: Node): boolean =>
  node.offset >= outer.offset && node.offset + node.length <= outer.offset + outer.length

const replace = (text: string, offset: number, length: number, by: string): string =>
  text.slice(0, offset) + by + text.slice(offset + length)

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

function treeOf(text: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first)
    throw new ConfigFault(
      lineAt(text, first.offset),
      `it is not valid JSON (${words(printParseErrorCode(first.error))})`,
    )
  if (!root) throw new ConfigFault(1, 'it contains no JSON')
  return root
}

/** `CommaExpected` in words. */
const words = (code: string): string =>
  code.replace(/(?<=[a-z])[A-Z]/g, letter => ` ${letter.toLowerCase()}`).toLowerCase()

/** Returns the value at a path. Refuses a repeated name, which the client may interpret differently. */
function nodeAt(text: string, path: Path): Node | undefined {
  if (text.trim() === '') return undefined
  let node: Node | undefined = treeOf(text)
  for (const [depth, name] of path.entries()) {
    if (node.type !== 'object') throw notAnObject(text, node, path.slice(0, depth))
    const named: Node[] = (node.children ?? []).filter(({ children }) => children?.[0]?.value === name)
    if (named[1]) throw new ConfigFault(lineAt(text, named[1].offset), `\`${name}\` appears twice`)
    node = named[0]?.children?.[1]
    if (!node) return undefined
  }
  return node
}

function objectAt(text: string, path: Path): Node {
  const node = nodeAt(text, path)
  if (node?.type === 'object') return node
  throw notAnObject(text, node, path)
}

const notAnObject = (text: string, node: Node | undefined, path: Path): ConfigFault => {
  const name = path.length === 0 ? 'its content' : `\`${path.join('.')}\``
  return new ConfigFault(lineAt(text, node?.offset ?? 0), `${name} is not an object, so nothing can be added to it`)
}

/** The layout of a new member: on its own line, or on the same line. */
interface Layout {
  eol: string
  unit: string
  /** White space before the line in which it begins. */
  line: string
  /** White space before a member; null if the members are on one line. */
  indent: string | null
}

function layoutAt(text: string, container: Node): Layout {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = /^(\t| {1,8})\S/m.exec(text)?.[1] ?? '  '
  const own = text.slice(container.offset, container.offset + container.length)
  const isOneLine = container.children?.length
    ? !own.includes('\n')
    : !text.trim().includes('\n') && text.trim() !== '{}'
  const line = /^[\t ]*/.exec(text.slice(text.lastIndexOf('\n', container.offset) + 1))?.[0] ?? ''
  return { eol, unit, line, indent: isOneLine ? null : `${line}${unit}` }
}

function render(value: unknown, { eol, unit, indent }: Omit<Layout, 'line'>): string {
  if (indent === null) return JSON.stringify(value)
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)
}

/** Inserts a member after the last one, and after the comment that may follow it. */
function insertInto(text: string, container: Node, member: (layout: Layout) => string): string {
  const layout = layoutAt(text, container)
  const { eol, line, indent } = layout
  const last = container.children?.at(-1)
  const close = container.offset + container.length - 1
  const open = last ? last.offset + last.length : container.offset + 1
  const hasComma = last !== undefined && commaAfter(text, open) !== null
  const between = text.slice(open, close).trimEnd()
  const ending = `${member(layout)}${hasComma ? ',' : ''}`
  const before = `${last && !hasComma ? ',' : ''}${between}`
  if (indent === null)
    return replace(text, open, close - open, `${before}${last && /\s/.test(text) ? ' ' : ''}${ending}`)
  const rest = text.slice(open + between.length, close)
  const closing = rest.includes('\n') ? rest : `${eol}${line}`
  return replace(text, open, close - open, `${before}${eol}${indent}${ending}${closing}`)
}

/** Returns the position of the comma after a member; null if there is none. */
function commaAfter(text: string, offset: number): number | null {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : null
}

/** Removes a member or item, with the white space before it and its comma. */
function removeFrom(text: string, node: Node): string {
  const siblings = node.parent?.children ?? []
  const previous = siblings[siblings.indexOf(node) - 1]
  const end = node.offset + node.length
  const following = commaAfter(text, end)
  const before = text.slice(0, node.offset).trimEnd()
  // Without the end of its line, a comment would hide what follows.
  const after = text.slice(following === null ? end : following + 1)
  const isHiding = /\/\/.*$/.test(before) && !/^[\t ]*(?:\r?\n|$)/.test(after)
  const start = isHiding ? node.offset : before.length
  if (following !== null) return replace(text, start, following + 1 - start, '')
  const without = text.slice(0, start) + text.slice(end)
  const comma = previous && commaAfter(text, previous.offset + previous.length)
  if (comma !== undefined && comma !== null) return replace(without, comma, 1, '')
  // Nothing is left between the brackets, not even a comment.
  return /^\s*[}\]]/.test(without.slice(start)) && start - 1 === node.parent?.offset
    ? without.slice(0, start) + without.slice(start).trimStart()
    : without
}
