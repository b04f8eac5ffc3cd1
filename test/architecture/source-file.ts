import { type ParseResult, parseSync } from 'rolldown/utils'

export interface SourceFile {
  /** From the root of the repository, with `/`. */
  path: string
  text: string
}

export interface Violation {
  path: string
  /** 1 is the first. */
  line: number
  message: string
}

export interface Import {
  specifier: string
  kind: 'value' | 'type'
  isDynamic: boolean
  line: number
}

export interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

export interface ParsedFile extends SourceFile {
  lines: number
  imports: readonly Import[]
  program: Node
  lineOf(offset: number): number
}

export function parseFile({ path, text }: SourceFile): ParsedFile {
  const parsed: ParseResult = parseSync(path, text)
  const [error] = parsed.errors
  if (error) throw new Error(`${path} cannot be parsed: ${error.message}`)
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(match => match.index + 1)]
  const lineOf = (offset: number) => lineStarts.findLastIndex(start => start <= offset) + 1
  const program = parsed.program as unknown as Node
  const lines = text.endsWith('\n') ? lineStarts.length - 1 : lineStarts.length
  return { path, text, lines, imports: importsOf(program, lineOf), program, lineOf }
}

/** Calls `visit` with every node and the nodes above it, the nearest last. */
export function walk(
  node: Node,
  visit: (node: Node, above: readonly Node[]) => void,
  above: readonly Node[] = [],
): void {
  visit(node, above)
  const below = [...above, node]
  for (const child of Object.values(node)) {
    for (const item of Array.isArray(child) ? child : [child]) if (isNode(item)) walk(item, visit, below)
  }
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** The name of an identifier or the text of a literal key; undefined for anything computed. */
export const nameOf = (node: unknown): string | undefined => {
  if (!isNode(node)) return undefined
  const name = node.type === 'Identifier' ? node.name : node.value
  return typeof name === 'string' ? name : undefined
}

function importsOf(program: Node, lineOf: (offset: number) => number): Import[] {
  const found: Import[] = []
  walk(program, node => {
    const source = isNode(node.source) ? node.source : undefined
    if (!source) return
    const specifier = specifierOf(source)
    if (specifier === undefined) return
    // `import { type A } from` still runs the file at run time; only `import type` is erased.
    const isType = node.importKind === 'type' || node.exportKind === 'type' || node.type === 'TSImportType'
    const isDynamic = node.type === 'ImportExpression'
    found.push({ specifier, kind: isType ? 'type' : 'value', isDynamic, line: lineOf(node.start) })
  })
  return found
}

/** Of a template, what stands before its first value: the room of a computed import is fixed by it. */
function specifierOf(source: Node): string | undefined {
  if (source.type !== 'TemplateLiteral') return nameOf(source)
  const [first] = source.quasis as { value: { raw: string } }[]
  return first?.value.raw
}
