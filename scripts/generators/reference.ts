import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ParseResult, parseSync } from 'rolldown/utils'
import { parameterRows } from '#cli/call/shell-call.ts'
import { commands } from '#cli/commands.ts'
import { helpText } from '#cli/show/help.ts'
import { publicComments } from '../build/declarations.ts'
import { packageEntries } from '../build/entries.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

/** One source file, parsed once. */
interface Source {
  path: string
  text: string
  body: readonly Node[]
  comments: ParseResult['comments']
}

/** An exported name: where it is declared, and how it is written there. */
interface Exported {
  name: string
  declared: { source: Source; statement: Node; declaration: Node } | { names: readonly string[]; of: string }
}

/** Longer constants, such as the schema of a request, are complete in `openapi.yaml`. */
const mostLines = 60

/** A page of `docs/reference` for each entry point of the package, generated from the declarations of its exports. */
export const referencePages = Object.entries(packageEntries).map(([name, path]) => ({
  path: `docs/reference/${name}.md`,
  make: async () => page(name, path),
}))

/** The name that most programs import first. */
const begins = { agent: 'createAgent', contract: 'operations', toolkit: 'defineTool', service: 'openService' }

function page(name: string, path: string): string {
  const sources = new Map<string, Source>()
  const entry = read(path, sources)
  const exported = exportsOf(entry, sources).toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const title = name === 'agent' ? 'farebox' : `farebox/${name}`
  const about = commentBefore(entry, entry.body[0]?.start ?? 0) || firstComment(entry)
  return [
    `<!-- written by npm run generate -->`,
    `# \`${title}\``,
    about.replace(/^`[\w/]+`: /, '').replace(/^./, first => first.toUpperCase()),
    `\`\`\`ts\nimport { ${begins[name as keyof typeof packageEntries]} } from '${title}'\n\`\`\``,
    ...exported.map(section),
    ...usedTypes(exported, sources),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

/** Types that the declarations above name but that are not exported: shown, because readers need their members. */
function usedTypes(exported: readonly Exported[], sources: Map<string, Source>): string[] {
  const shown = new Set(exported.map(({ name }) => name))
  const found: Exported[] = []
  const look = ({ name, declared }: Exported) => {
    if (!('source' in declared)) return
    for (const [used = ''] of declarationText(declared.source, declared.declaration, name).matchAll(/\b[A-Z]\w+/g)) {
      const type = shown.has(used) ? undefined : typeNamed(used, declared.source, sources)
      if (!type) continue
      shown.add(used)
      found.push(type)
      look(type)
    }
  }
  exported.forEach(look)
  if (found.length === 0) return []
  return ['# Types named above', ...found.toSorted((one, other) => (one.name < other.name ? -1 : 1)).map(section)]
}

/** A type of ours that a file declares or imports. */
function typeNamed(name: string, source: Source, sources: Map<string, Source>): Exported | undefined {
  const isType = ({ type }: Node) => type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration'
  for (const statement of source.body) {
    if (statement.type === 'ImportDeclaration') {
      const local = (statement.specifiers as Node[]).find(each => textOf(each.local) === name)
      const file = local && fileOf(source.path, textOf(statement.source))
      if (local && file) return typeNamed(textOf(local.imported), read(file, sources), sources)
    }
    const declaration = (statement.declaration as Node | null | undefined) ?? statement
    if (isType(declaration) && textOf(declaration.id) === name)
      return { name, declared: { source, statement, declaration } }
  }
  return undefined
}

function section({ name, declared }: Exported): string {
  if ('names' in declared)
    return `## \`${name}\`\n\nA namespace: ${declared.names.map(each => `\`${each}\``).join(', ')}.`
  const { source, statement, declaration } = declared
  const { words, example } = split(commentBefore(source, statement.start))
  return [
    `## \`${name}\``,
    ...(words === '' ? [] : [words]),
    `\`\`\`ts\n${declarationText(source, declaration, name)}\n\`\`\``,
    ...(example === '' ? [] : [`\`\`\`js\n${example}\n\`\`\``]),
  ].join('\n\n')
}

/** The words of a comment, and its example. */
function split(comment: string): { words: string; example: string } {
  const [words = '', example = ''] = comment.split(/\n?@example\n/)
  return { words: words.trim().replaceAll(/\s*\n\s*/g, ' '), example: example.trim() }
}

function read(path: string, sources: Map<string, Source>): Source {
  const known = sources.get(path)
  if (known) return known
  const text = readFileSync(`${root}${path}`, 'utf8')
  const { program, comments } = parseSync(path, text)
  const source = { path, text, body: program.body as unknown as Node[], comments }
  sources.set(path, source)
  return source
}

const { imports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { imports: Record<string, string> }

/** The file of an import, relative to the root; undefined for a package. */
function fileOf(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier)
  const [room = '', ...rest] = specifier.split('/')
  const target = imports[`${room}/*`]
  return target && posix.normalize(target.replace('*', rest.join('/')))
}

const textOf = (node: unknown): string => {
  const { name, value } = node as { name?: string; value?: string }
  return name ?? value ?? ''
}

/** Follows every `export … from` to the declaration. */
function exportsOf(source: Source, sources: Map<string, Source>): Exported[] {
  const found = source.body.flatMap((statement): Exported[] => {
    const file = statement.source ? fileOf(source.path, textOf(statement.source)) : undefined
    if (statement.source && file === undefined) return []
    const from = file === undefined ? undefined : read(file, sources)
    if (statement.type === 'ExportAllDeclaration' && from) {
      const all = exportsOf(from, sources)
      if (!statement.exported) return all
      return [{ name: textOf(statement.exported), declared: { names: all.map(({ name }) => name), of: from.path } }]
    }
    if (statement.type !== 'ExportNamedDeclaration') return []
    if (statement.declaration) return declaredBy(source, statement, statement.declaration as Node)
    return (statement.specifiers as Node[]).map(specifier => {
      const name = textOf(specifier.exported)
      const inner = from && exportsOf(from, sources).find(each => each.name === textOf(specifier.local))
      if (!inner) throw new Error(`${source.path} exports ${name}, which is not declared where it says`)
      return { ...inner, name }
    })
  })
  // A schema and its type share a name; the schema is shown because it says more.
  return [...new Map(found.toReversed().map(each => [each.name, each])).values()]
}

function declaredBy(source: Source, statement: Node, declaration: Node): Exported[] {
  const list = (declaration.declarations as Node[] | undefined) ?? [declaration]
  return list.map(each => ({ name: textOf(each.id), declared: { source, statement, declaration: declaration } }))
}

/** What is between a declaration and its own comment; a comment with an empty line after it is about the file. */
const between = /^[^\S\n]*\n?[^\S\n]*$/

/** The text of a declaration's documentation comment, which ends just before an offset; empty if there is none. */
function commentBefore({ path, text, comments }: Source, offset: number): string {
  const comment = comments.findLast(each => each.end <= offset && between.test(text.slice(each.end, offset)))
  return comment?.type === 'Block' && comment.value.startsWith('*') ? plain(path, comment.value) : ''
}

const firstComment = ({ path, comments: [first] }: Source): string => (first ? plain(path, first.value) : '')

const plain = (path: string, comment: string): string =>
  publicComments(path, `/*${comment}*/`)
    .replace(/^\/\*\*?/, '')
    .replace(/\*\/$/, '')
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim()

/** The declaration without the code that runs: a function without its body, a constant without a long value. */
function declarationText(source: Source, declaration: Node, name: string): string {
  // `async` adds nothing if the return type is a promise.
  const slice = (from: number, to: number) =>
    publicComments(source.path, source.text.slice(from, to))
      .trimEnd()
      .replace(/^(\s*)async /, '$1')
  const { start, end } = declaration
  switch (declaration.type) {
    case 'FunctionDeclaration':
      return slice(start, (declaration.body as Node).start)
    case 'ClassDeclaration':
      return classText(declaration, slice)
    case 'VariableDeclaration': {
      const one = (declaration.declarations as Node[]).find(each => textOf(each.id) === name) as Node
      const init = one.init as Node
      if (init.type === 'ArrowFunctionExpression')
        return slice(start, (init.body as Node).start).replace(/\s*=>\s*\(?$/, '')
      const whole = slice(start, end)
      return whole.split('\n').length <= mostLines ? whole : slice(start, (one.id as Node).end)
    }
    default:
      return slice(start, end)
  }
}

/** The members that callers see, methods without bodies. */
function classText(declaration: Node, slice: (from: number, to: number) => string): string {
  const body = declaration.body as Node
  const members = (body.body as Node[]).flatMap(member => {
    const key = member.key as Node | undefined
    if (key?.type === 'PrivateIdentifier' || member.accessibility === 'private' || member.type === 'StaticBlock')
      return []
    const inner = (member.value as Node | null)?.body as Node | undefined
    if (member.type === 'MethodDefinition') return [`  ${slice(member.start, inner?.start ?? member.end).trim()}`]
    const value = member.value as Node | null
    const to = value ? value.start : member.end
    return [
      `  ${slice(member.start, to)
        .replace(/\s*=\s*$/, '')
        .trim()}`,
    ]
  })
  return [`${slice(declaration.start, body.start).trim()} {`, ...members, '}'].join('\n')
}

/** The page of every tool: its arguments and what it returns, generated from the listing that clients get. */
export async function toolsPage(): Promise<string> {
  const { listing } = await import('#mcp/listing.generated.ts')
  return [
    '<!-- written by npm run generate -->',
    '# Tools',
    'Every tool with its arguments and its output, in the order of the listing. `farebox call --list TOOL` prints the same in a terminal.',
    ...listing.tools.flatMap(({ name, title, description, inputSchema, outputSchema }) => [
      `## \`${name}\``,
      `${title}. ${description}`,
      ...argumentTable(inputSchema),
      `Returns ${parameterRows(outputSchema ?? {})
        .map(([member, type]) => `\`${member}\`${type === 'any' ? '' : ` (${type})`}`)
        .join(', ')}.`,
    ]),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

function argumentTable(schema: object): string[] {
  const rows = parameterRows(schema).map(([name, type, required, preset, allowed = '', what = '']) => {
    const facts = [type, required, preset === '' ? '' : `default ${preset}`].filter(Boolean)
    return [`\`${name}\``, facts.join(', '), allowed, what]
  })
  if (rows.length === 0) return ['It takes no arguments.']
  const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [[line(['Argument', 'Type', 'Allowed', 'Description']), '|---|---|---|---|', ...rows.map(line)].join('\n')]
}

/** The page of every command, as `farebox help` prints it. */
export async function commandsPage(): Promise<string> {
  const plain = { isTerminal: false, isColoured: false, columns: 120 }
  const helped = await Promise.all(
    commands.map(async ({ name, summary, load }) => {
      const text = helpText({ name, summary, usage: (await load()).usage }, undefined, plain)
      return `## \`farebox ${name}\`\n\n${summary}.\n\n\`\`\`text\n${text.slice(summary.length).trim()}\n\`\`\``
    }),
  )
  return [
    '<!-- written by npm run generate -->',
    '# Commands',
    'Every command with its flags and examples. `farebox help COMMAND` prints the same, and `farebox help COMMAND SUBCOMMAND` only the part about one subcommand.',
    ...helped,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}
