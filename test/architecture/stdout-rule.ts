import { roomOf } from './rooms.ts'
import { isNode, type Node, nameOf, type ParsedFile, type Violation, walk } from './source-file.ts'

/**
 * Under MCP, stdout is the protocol; under `--json`, it is the events. One file writes each, and nothing else writes a byte.
 * A package's own stdio transport writes too, so it may be imported here only.
 */
const WRITERS = new Set(['src/mcp/stdio.ts', 'src/cli/output.ts'])
/** Replaces the stdout of threads, so that nothing is written to it. */
const SILENCER = 'src/host/workers/thread-entry.ts'
const STDIO_PACKAGES = /^@modelcontextprotocol\/server\/stdio$/

export function stdoutWrites(files: readonly ParsedFile[]): Violation[] {
  return files
    .filter(({ path }) => roomOf(path) !== undefined && !WRITERS.has(path) && path !== SILENCER)
    .flatMap(file => {
      const found: Violation[] = []
      walk(file.program, (node, above) => {
        const what = writes(node, above)
        if (what) found.push({ path: file.path, line: file.lineOf(node.start), message: `uses ${what}` })
      })
      return found
    })
}

function writes(node: Node, above: readonly Node[]): string | undefined {
  const parent = above.at(-1)
  switch (node.type) {
    case 'Identifier':
      return node.name === 'console' && !isPropertyName(node, parent) ? 'console' : undefined
    case 'MemberExpression':
      return isProcess(node.object) && nameOf(node.property) === 'stdout' ? 'process.stdout' : undefined
    case 'VariableDeclarator':
      return isProcess(node.init) && takes(node.id, 'stdout') ? 'process.stdout' : undefined
    case 'ImportDeclaration':
      return writingImport(node)
    case 'CallExpression':
      return isFirstDescriptor(node) ? 'file descriptor 1' : undefined
    default:
      return undefined
  }
}

function writingImport(node: Node): string | undefined {
  const from = nameOf(node.source) ?? ''
  if (STDIO_PACKAGES.test(from) && node.importKind !== 'type') return from
  if (/^(node:)?console$/.test(from)) return from
  const names = (node.specifiers as Node[]).map(specifier => nameOf(specifier.imported))
  return /^(node:)?process$/.test(from) && names.includes('stdout') ? 'process.stdout' : undefined
}

/** `fs.writeSync(1, …)` and `writeSync(1, …)`. */
function isFirstDescriptor({ callee, arguments: args }: Node): boolean {
  if (!isNode(callee)) return false
  const name = callee.type === 'MemberExpression' ? nameOf(callee.property) : nameOf(callee)
  const [first] = args as Node[]
  return /^(write|writev)(Sync)?$/.test(name ?? '') && first?.type === 'Literal' && first.value === 1
}

function isPropertyName(node: Node, parent: Node | undefined): boolean {
  if (parent?.type === 'MemberExpression') return parent.property === node && parent.computed !== true
  return parent?.type === 'Property' && parent.key === node && parent.shorthand !== true
}

/** `process` and `globalThis.process`. */
const isProcess = (node: unknown): boolean =>
  isNode(node) &&
  (nameOf(node) === 'process' || (node.type === 'MemberExpression' && nameOf(node.property) === 'process'))

const takes = (pattern: unknown, name: string): boolean =>
  isNode(pattern) &&
  pattern.type === 'ObjectPattern' &&
  (pattern.properties as Node[]).some(property => nameOf(property.key) === name)
