import { basename } from 'node:path/posix'
import { type Node, nameOf, type ParsedFile, type Violation, walk } from './source-file.ts'

/** As much of a file as a reader can keep in mind; half is better. */
const MAX_FILE_LINES = 400
/** One screen. */
const MAX_FUNCTION_LINES = 70

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])
const TEST_BLOCKS = new Set(['describe', 'test', 'it'])

export const longFiles = (files: readonly ParsedFile[]): Violation[] =>
  files
    .filter(({ path, lines }) => lines > MAX_FILE_LINES && !isGenerated(path))
    .map(({ path, lines }) => ({ path, line: 1, message: `has ${lines} lines; ${MAX_FILE_LINES} are the most` }))

/** The callbacks of `describe` and `test` are chapters, not functions: they may be longer, and do not count in what holds them. */
export const longFunctions = (files: readonly ParsedFile[]): Violation[] =>
  files.filter(({ path }) => !isGenerated(path)).flatMap(longFunctionsOf)

function longFunctionsOf(file: ParsedFile): Violation[] {
  const functions: Node[] = []
  const chapters: Node[] = []
  walk(file.program, (node, above) => {
    if (!FUNCTIONS.has(node.type)) return
    const isChapter = file.path.startsWith('test/') && isTestBlock(node, above.at(-1))
    ;(isChapter ? chapters : functions).push(node)
  })
  return functions.flatMap(node => {
    const lines = linesOf(file, node) - chapterLines(file, node, chapters)
    const message = `has a function of ${lines} lines; ${MAX_FUNCTION_LINES} are the most`
    return lines > MAX_FUNCTION_LINES ? [{ path: file.path, line: file.lineOf(node.start), message }] : []
  })
}

const linesOf = (file: ParsedFile, node: Node) => file.lineOf(node.end) - file.lineOf(node.start) + 1

/** Lines of the outermost chapters inside of a function. */
function chapterLines(file: ParsedFile, node: Node, chapters: readonly Node[]): number {
  const inside = chapters.filter(chapter => contains(node, chapter))
  const outermost = inside.filter(chapter => !inside.some(other => contains(other, chapter)))
  return outermost.reduce((sum, chapter) => sum + linesOf(file, chapter), 0)
}

const contains = (outer: Node, inner: Node) => outer !== inner && outer.start <= inner.start && inner.end <= outer.end

/** `test(…)`, `test.each(…)(…)`, `test.for(…)(…)`: the word at the root of what is called. */
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

const isGenerated = (path: string) => basename(path).includes('.generated.')
