import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { filesBesideFolders } from './folder-rule.ts'
import { bannedTerms } from './glossary.ts'
import { roomOf, rooms, targetOf } from './rooms.ts'
import { type Node, type ParsedFile, parseFile, walk } from './source-file.ts'

/**
 * Prints how large the source is, from its syntax trees, beside the goals. `--words` also lists the banned words, and
 * `--files` the largest and the smallest files, the smallest with the files that import them.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))

const read = (pattern: string): ParsedFile[] =>
  globSync(pattern, { cwd: root })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => !path.includes('.generated.'))
    .sort()
    .map(path => parseFile({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))

const sources = read('{src,tools,prompts,resources,pages,scripts,bench}/**/*.{ts,tsx}')
const tests = globSync('test/**/*.ts', { cwd: root })

const lines = sources.map(file => file.lines).sort((one, other) => one - other)
const functions = sources.flatMap(functionLines).sort((one, other) => one - other)
const at = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)

/** Functions and methods with a block as their body; an arrow with an expression hides nothing to measure. */
function functionLines(file: ParsedFile): number[] {
  const found: number[] = []
  walk(file.program, node => {
    const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
    const body = node.body as Node | null | undefined
    if (isFunction && (body?.type === 'BlockStatement' || body?.type === 'FunctionBody'))
      found.push(file.lineOf(node.end) - file.lineOf(node.start) + 1)
  })
  return found
}

const roomNames = Object.keys(rooms)
const inRoom = (name: string) => sources.filter(({ path }) => roomOf(path) === name)

const beside = filesBesideFolders(sources).map(({ name, beside }) => [name, beside.length] as const)
const largest = roomNames.map(name => [name, sum(inRoom(name).map(file => file.lines))] as const)
const most = (entries: readonly (readonly [string, number])[]) =>
  [...entries].sort(([, one], [, other]) => other - one)[0] ?? ['', 0]

/** A folder of a room, or a file beside its folders. */
function partOf(path: string): string | undefined {
  const name = roomOf(path)
  const folder = name === undefined ? undefined : rooms[name]?.folder
  return folder && `${folder}/${path.slice(folder.length + 1).split('/')[0]}`
}

/** Parts of one room that need each other, types and files beside folders counted: sets that no order can sort. */
function circles(): string[][] {
  const ways = new Map<string, Set<string>>()
  for (const { path, imports } of sources)
    for (const { specifier, isDynamic } of imports) {
      const [from, to] = [partOf(path), partOf(targetOf(path, specifier) ?? '')]
      if (isDynamic || !from || !to || from === to || roomOf(`${from}/`) !== roomOf(`${to}/`)) continue
      ways.set(from, (ways.get(from) ?? new Set()).add(to))
    }
  const reach = (start: string) => {
    const seen = new Set<string>()
    const open = [start]
    for (let next = open.pop(); next !== undefined; next = open.pop())
      for (const way of ways.get(next) ?? []) if (!seen.has(way)) open.push(way) && seen.add(way)
    return seen
  }
  const reached = new Map([...ways.keys()].map(part => [part, reach(part)]))
  const found = new Map<string, string[]>()
  for (const [part, seen] of reached) {
    if (!seen.has(part)) continue
    const circle = [...seen].filter(other => reached.get(other)?.has(part)).sort()
    found.set(circle.join(), circle)
  }
  return [...found.values()]
}

const small = sources.filter(file => file.lines <= 30)
const [besideRoom, besideMost] = most(beside)
const [largestRoom, largestLines] = most(largest)
const inCircles = circles()
const testLines = sum(tests.map(path => readFileSync(`${root}/${path}`, 'utf8').split('\n').length - 1))
const words = bannedTerms(sources)
const share = (small.length / sources.length) * 100

const rows: [what: string, is: string | number, goal: string][] = [
  ['source files', sources.length, '≤ 650'],
  ['lines a file, p50', at(lines, 0.5), '≥ 90'],
  ['lines a file, p90', at(lines, 0.9), '≤ 280'],
  ['lines a file, most', lines.at(-1) ?? 0, '≤ 400'],
  ['files of at most 30 lines', `${small.length} (${share.toFixed(1)} %)`, '≤ 8 %'],
  ['lines a function, p50', at(functions, 0.5), '≤ 10'],
  ['lines a function, p90', at(functions, 0.9), '≤ 35'],
  ['lines a function, most', functions.at(-1) ?? 0, '≤ 70'],
  ['files beside folders, most', `${besideMost} (${besideRoom})`, '≤ 8'],
  ['circles', inCircles.length, '0'],
  ['largest room, lines', `${largestLines} (${largestRoom})`, '≤ 17000'],
  ['source lines', sum(lines), '≤ 74000'],
  ['test lines', `${testLines} in ${tests.length} files`, '≤ 80000'],
  ['banned words', words.length, '0'],
]
for (const [what, is, goal] of rows) process.stdout.write(`${what.padEnd(28)} ${String(is).padEnd(20)} ${goal}\n`)
process.stdout.write(`\n${'room'.padEnd(28)} ${'files'.padEnd(8)} lines\n`)
for (const [name, all] of largest)
  process.stdout.write(`${name.padEnd(28)} ${String(inRoom(name).length).padEnd(8)} ${all}\n`)
for (const circle of inCircles) process.stdout.write(`circle: ${circle.join(' ')}\n`)
if (process.argv.includes('--words'))
  for (const { path, line, message } of words) process.stdout.write(`${path}:${line} ${message}\n`)
if (process.argv.includes('--files')) {
  process.stdout.write('\n')
  const large = sources.filter(file => file.lines >= 375).sort((one, other) => other.lines - one.lines)
  for (const { path, lines } of large) process.stdout.write(`${lines} ${path}\n`)
  for (const { path, lines } of small) {
    const importers = sources.filter(file => file.imports.some(each => targetOf(file.path, each.specifier) === path))
    process.stdout.write(`${lines} ${path} < ${importers.map(file => file.path).join(' ') || 'no import'}\n`)
  }
}
