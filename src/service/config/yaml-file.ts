import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { configAliases, configBytes } from './bounds.ts'
import { type ConfigFault, type ConfigPath, ConfigRefused, fieldOf } from './config-fault.ts'
import { yamlSentence } from './yaml-sentence.ts'

/** A parsed file that still knows where everything stood. */
export class YamlFile {
  readonly value: unknown
  readonly #document: Document
  readonly #lines = new LineCounter()

  /** Throws `ConfigRefused` where it is no YAML. */
  constructor(text: string) {
    if (text.length > configBytes) throw new ConfigRefused([atStart(`The file is larger than ${configBytes} bytes.`)])
    this.#document = parseDocument(text, { lineCounter: this.#lines, merge: true, prettyErrors: false })
    const faults = this.#document.errors.map(({ code, pos: [offset] }) => ({
      ...this.#place(offset),
      ...{ field: '', sentence: yamlSentence(code) },
    }))
    if (faults.length) throw new ConfigRefused(faults)
    try {
      this.value = this.#document.toJS({ maxAliasCount: configAliases })
    } catch {
      throw new ConfigRefused([atStart('The file’s aliases do not resolve, or are too many.')])
    }
  }

  /** A fault at the value of a path, or at the nearest one around it that is there. */
  fault(path: ConfigPath, sentence: string): ConfigFault {
    return { ...this.#place(this.#offset(path)), field: fieldOf(path), sentence }
  }

  /** A fault at a name within the map of a path. */
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

type Ranged = { range?: readonly [number, number, number] | null } | null | undefined

const atStart = (sentence: string): ConfigFault => ({ line: 1, column: 1, field: '', sentence })
