import { type Node, nameOf, type ParsedFile, type Violation, walk } from './source-file.ts'

/** Private words for which the field has a usual word. Each matches a whole word of a name. */
const bannedWords: Readonly<Record<string, string>> = {
  picture: 'image',
  pictures: 'images',
  sound: 'audio',
  sounds: 'audio',
  film: 'video',
  books: 'ledger',
  desk: 'service, store, context or client',
  till: 'service, store, context or client',
  standing: 'status',
  tab: 'service, store, context or client',
  underway: 'in flight',
  stranger: 'caller',
  strangers: 'callers',
  strange: 'untrusted',
  whoever: 'the user, operator or caller',
  somebody: 'the user, operator or caller',
  nobody: 'no user, operator or caller',
  mend: 'fix',
  mends: 'fixes',
  mended: 'fixed',
  outer: 'public',
  inner: 'private',
  programs: 'subprocess',
}

/** In sentences that users read, beside the words. */
const bannedPhrases: Readonly<Record<string, string>> = {
  'asked anew': 'retried',
  'comes again': 'retries',
  'is none': 'is missing or invalid',
}

/** Banned words that the brief, a standard or a package uses: the exact name or text, and why. */
export const exempt: Readonly<Record<string, string>> = {
  'Queue music or a sound effect; charged at its quote, refunded once if it fails': 'what the trade calls it',
  'Price of music or a sound effect, in USD': 'what the trade calls it',
}

const products = ['src/', 'tools/', 'prompts/', 'resources/', 'pages/']

/** Names of files, exported names and sentences of the product that use a banned word. */
export const bannedTerms = (files: readonly ParsedFile[]): Violation[] =>
  files
    .filter(({ path }) => products.some(folder => path.startsWith(folder)) && !path.includes('.generated.'))
    .flatMap(file => [...inPath(file), ...inExports(file), ...inSentences(file)])

function inPath({ path }: ParsedFile): Violation[] {
  return wordsOf(path.replace(/\.\w+$/, '')).flatMap(word => violation({ path, line: 1, found: word, of: path }))
}

function inExports(file: ParsedFile): Violation[] {
  const body = file.program.body as Node[]
  return body
    .filter(({ type }) => type === 'ExportNamedDeclaration')
    .flatMap(node => {
      const declaration = node.declaration as Node | null
      const named = declaration ? [declaration, ...((declaration.declarations as Node[] | undefined) ?? [])] : []
      return named.flatMap(each => {
        const name = nameOf(each.id)
        if (name === undefined) return []
        const at = { path: file.path, line: file.lineOf(node.start), of: name }
        return wordsOf(name).flatMap(word => violation({ ...at, found: word }))
      })
    })
}

/** A text with a space is a sentence for a reader; one without is a name, a key or a path. */
function inSentences(file: ParsedFile): Violation[] {
  const found: Violation[] = []
  walk(file.program, (node, above) => {
    const text = textOf(node, above.at(-1))
    if (text === undefined || !/\s/.test(node.type === 'TemplateElement' ? text : text.trim())) return
    const at = { path: file.path, line: file.lineOf(node.start), of: text.trim() }
    const words = text.toLowerCase().match(/[a-z]+/g) ?? []
    const phrases = Object.keys(bannedPhrases).filter(phrase => text.toLowerCase().includes(phrase))
    for (const each of [...words, ...phrases]) found.push(...violation({ ...at, found: each }))
  })
  return found
}

function textOf(node: Node, parent: Node | undefined): string | undefined {
  if (parent?.type === 'ImportDeclaration' || parent?.type === 'ImportExpression') return undefined
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  return node.type === 'TemplateElement' ? (node.value as { raw: string }).raw : undefined
}

/** `PictureModel` and `picture-model` are both picture, model. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)

function violation({ path, line, found, of }: { path: string; line: number; found: string; of: string }): Violation[] {
  const better = bannedWords[found] ?? bannedPhrases[found]
  if (better === undefined || !Object.hasOwn({ ...bannedWords, ...bannedPhrases }, found) || of in exempt) return []
  return [{ path, line, message: `says \`${found}\` (${better}) in: ${of.slice(0, 100)}` }]
}
