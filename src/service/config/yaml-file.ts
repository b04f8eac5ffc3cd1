import {
  type CST,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  parseDocument,
} from 'yaml'
import {
  type ConfigFault,
  type ConfigPath,
  ConfigRefused,
  configAliases,
  configBytes,
  fieldOf,
} from './config-values.ts'

const quotes = 'A quotation mark, a comma, a colon or a bracket is missing here or before it.'
const names = 'Write a name (&name) once before a value, and refer to it (*name) elsewhere.'
const oneLine =
  'A line of the form `name: value` is expected here; put the name on one line, and a space after its colon.'

const unexpected = `This character is not expected here; a quotation mark or bracket before it may be missing. Within brackets and braces, put a variable in quotation marks: '\${NAME}'.`

/** Advice for invalid YAML; the library's own messages describe its grammar. */
const sentences: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: names,
  BAD_ALIAS: names,
  BAD_COLLECTION_TYPE: 'A tag (!…) does not match the value after it; remove it.',
  BAD_DIRECTIVE: 'Lines that begin with % are not allowed; remove this one.',
  BAD_DQ_ESCAPE: 'A backslash within "…" begins an unknown escape; write \\\\ for a backslash, or use \'…\'.',
  BAD_INDENT:
    'The indentation of this line differs from that of its neighbours; use the same number of spaces for the whole list or map.',
  BAD_PROP_ORDER: names,
  BAD_SCALAR_START: 'A value that begins with this character must be in quotation marks.',
  BLOCK_AS_IMPLICIT_KEY: 'There are two settings on one line; begin a new, indented line after the first colon.',
  BLOCK_IN_FLOW: 'A list with dashes cannot be within brackets; write [a, b] there.',
  DUPLICATE_KEY: 'This setting appears twice; keep one of them.',
  IMPOSSIBLE: quotes,
  KEY_OVER_1024_CHARS: oneLine,
  MISSING_CHAR: quotes,
  MULTILINE_IMPLICIT_KEY: oneLine,
  MULTIPLE_ANCHORS: names,
  MULTIPLE_DOCS: 'A line of three dashes begins a second document; remove it.',
  MULTIPLE_TAGS: 'Remove the tags (!…).',
  NON_STRING_KEY: oneLine,
  RESOURCE_EXHAUSTION: 'Lists or maps are nested too deeply.',
  TAB_AS_INDENT: 'This line is indented with tabs; use spaces.',
  TAG_RESOLVE_FAILED: 'Unknown tag (!…); remove it.',
  UNEXPECTED_TOKEN: unexpected,
}

const yamlSentence = (code: ErrorCode): string =>
  Object.hasOwn(sentences, code) ? sentences[code] : 'This is not YAML.'

/** A parsed file that still knows the position of every value. */
export class YamlFile {
  readonly value: unknown
  readonly #document: Document
  readonly #lines = new LineCounter()

  /** Throws `ConfigRefused` if it is not valid YAML. */
  constructor(text: string) {
    if (text.length > configBytes) throw new ConfigRefused([atStart(`The file is larger than ${configBytes} bytes.`)])
    this.#document = parseDocument(text, { lineCounter: this.#lines, merge: true, prettyErrors: false })
    if (this.#document.errors.length) throw new ConfigRefused(this.#grammarFaults(text))
    try {
      this.value = this.#document.toJS({ maxAliasCount: configAliases })
      // Throws for an alias within the value that it names: reading such a value would never end.
      JSON.stringify(this.value)
    } catch {
      throw new ConfigRefused([atStart('The file’s aliases do not resolve, or there are too many of them.')])
    }
  }

  /** An unclosed bracket is reported where it opens; apparent errors of indentation follow from it. */
  #grammarFaults(text: string): ConfigFault[] {
    const open = openBrackets(text)
    const first = Math.min(...open.map(({ offset }) => offset))
    const others = this.#document.errors.filter(({ code, pos: [offset] }) => code !== 'BAD_INDENT' || offset < first)
    const found = [
      ...open.map(({ offset, sign }) => ({ offset, sentence: unclosed(sign) })),
      ...others.map(({ code, pos: [offset] }) => ({ offset, sentence: yamlSentence(code) })),
    ]
    return found
      .sort((one, other) => one.offset - other.offset)
      .map(({ offset, sentence }) => ({ ...this.#place(offset), field: '', sentence }))
  }

  /** Returns a fault at the value of a path, or at the nearest existing parent. */
  fault(path: ConfigPath, sentence: string): ConfigFault {
    return { ...this.#place(this.#offset(path)), field: fieldOf(path), sentence }
  }

  /** Returns a fault at a name within the map of a path. */
  faultOfKey(path: ConfigPath, key: string, sentence: string): ConfigFault {
    const pair = this.#pair(this.#node(path), key)
    const offset = (pair?.key as Ranged)?.range?.[0] ?? this.#offset(path)
    return { ...this.#place(offset), field: fieldOf([...path, key]), sentence }
  }

  #place(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  #offset(path: ConfigPath): number {
    for (let length = path.length; length >= 0; length--) {
      const node = this.#node(path.slice(0, length)) as Ranged
      if (node?.range) return node.range[0]
    }
    return 0
  }

  #node(path: ConfigPath): unknown {
    let node: unknown = this.#document.contents
    for (const part of path) {
      const inside = this.#resolved(node)
      if (isSeq(inside) && typeof part === 'number') node = inside.items[part]
      else node = this.#pair(inside, String(part))?.value
      if (node === undefined || node === null) return null
    }
    return node
  }

  #pair(node: unknown, name: string) {
    const map = this.#resolved(node)
    if (!isMap(map)) return undefined
    return map.items.find(({ key }) => (isScalar(key) ? String(key.value) : key) === name)
  }

  #resolved(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node
  }
}

const closing = { '[': ']', '{': '}' } as const
type Opening = keyof typeof closing

const unclosed = (sign: Opening): string =>
  `The bracket ${sign} that opens here is never closed; end it with ${closing[sign]}.`

/** Finds brackets of lists and maps that are never closed, as the parser saw them. */
function openBrackets(text: string): { sign: Opening; offset: number }[] {
  const waiting: (CST.Token | null | undefined)[] = [...new Parser().parse(text)]
  const found: { sign: Opening; offset: number }[] = []
  for (let token = waiting.pop(); waiting.length > 0 || token; token = waiting.pop()) {
    if (!token) continue
    if (token.type === 'document') waiting.push(token.value)
    if (!('items' in token)) continue
    for (const item of token.items) waiting.push(item.key, item.value)
    if (token.type !== 'flow-collection') continue
    const sign = token.start.source as Opening
    if (!token.end.some(({ type, ...end }) => 'source' in end && end.source === closing[sign]))
      found.push({ sign, offset: token.start.offset })
  }
  return found
}

type Ranged = { range?: readonly [number, number, number] | null } | null | undefined

const atStart = (sentence: string): ConfigFault => ({ line: 1, column: 1, field: '', sentence })
