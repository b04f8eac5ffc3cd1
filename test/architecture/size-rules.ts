import { basename } from 'node:path/posix'
import { type Node, nameOf, type ParsedFile, type Violation, walk } from './source-file.ts'

/** What a reader keeps in mind of a file; half is better. */
const MAX_FILE_LINES = 400
/** One screen. */
const MAX_FUNCTION_LINES = 70

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])
const TEST_BLOCKS = new Set(['describe', 'test', 'it'])

export const longFiles = (files: readonly ParsedFile[]): Violation[] =>
  files
    .filter(({ path, lines }) => lines > MAX_FILE_LINES && !isGenerated(path))
    .map(({ path, lines }) => ({ path, line: 1, message: `has ${lines} lines; ${MAX_FILE_LINES} are the most` }))

/** The callbacks of `describe` and `test` are chapters, not functions, and may be longer. */
export const longFunctions = (files: readonly ParsedFile[]): Violation[] =>
  files.filter(({ path }) => !isGenerated(path)).flatMap(longFunctionsOf)

function longFunctionsOf(file: ParsedFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node, above) => {
    if (!FUNCTIONS.has(node.type)) return
    const line = file.lineOf(node.start)
    const lines = file.lineOf(node.end) - line + 1
    if (lines <= MAX_FUNCTION_LINES || (isTest(file.path) && isTestBlock(node, above.at(-1)))) return
    found.push({
      path: file.path,
      line,
      message: `has a function of ${lines} lines; ${MAX_FUNCTION_LINES} are the most`,
    })
  })
  return found
}

/** `test(…)`, `test.each(…)(…)`, `describe.skipIf(…)(…)`: the word at the root of what is called. */
function isTestBlock(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'CallExpression' || !(parent.arguments as Node[]).includes(node)) return false
  let callee = parent.callee as Node
  while (callee.type !== 'Identifier') {
    const next = callee.callee ?? callee.object ?? callee.tag
    if (!next) return false
    callee = next as Node
  }
  return TEST_BLOCKS.has(nameOf(callee) ?? '')
}

const isTest = (path: string) => path.endsWith('.test.ts')
const isGenerated = (path: string) => basename(path).includes('.generated.')
