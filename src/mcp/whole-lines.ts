import { Transform, type TransformCallback } from 'node:stream'
import { idCharacters, messageBytes } from './bounds.ts'

export interface WholeLines {
  /** Told once for each line that is too long, with the id of its request where that can be seen at either end of it. */
  onTooLong(id: string | number | null): void
  mostBytes?: number
}

/**
 * Passes whole lines on. One that is too long is thrown away as it comes, up to its end, so that no more of it than the bound
 * is ever held and the lines behind it are served.
 */
export class LineBound extends Transform {
  readonly #options: Required<WholeLines>
  #pieces: Buffer[] = []
  #bytes = 0
  /** Of a line that is thrown away: what it began with, and how it ended so far. */
  #thrown: { head: string; tail: string } | null = null

  constructor(options: WholeLines) {
    super()
    this.#options = { mostBytes: messageBytes, ...options }
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let rest = chunk; rest.byteLength > 0; ) {
      const end = rest.indexOf(newline)
      const piece = end < 0 ? rest : rest.subarray(0, end + 1)
      rest = end < 0 ? rest.subarray(rest.byteLength) : rest.subarray(end + 1)
      this.#take(piece, end >= 0)
    }
    done()
  }

  override _flush(done: TransformCallback): void {
    if (!this.#thrown && this.#bytes > 0) this.push(this.#taken())
    done()
  }

  #take(piece: Buffer, isEnd: boolean): void {
    if (this.#thrown) this.#thrown.tail = lastOf(this.#thrown.tail + lastOf(piece.toString('latin1')))
    else {
      this.#pieces.push(piece)
      this.#bytes += piece.byteLength
      if (this.#bytes > this.#options.mostBytes) {
        const whole = this.#taken()
        const [head, tail] = [whole.subarray(0, idCharacters), whole.subarray(-idCharacters)]
        this.#thrown = { head: head.toString('latin1'), tail: tail.toString('latin1') }
      }
    }
    if (!isEnd) return
    if (!this.#thrown) return void this.push(this.#taken())
    const id = idIn(this.#thrown)
    this.#thrown = null
    this.#options.onTooLong(id)
  }

  #taken(): Buffer {
    const whole = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    return whole ?? Buffer.alloc(0)
  }
}

const newline = 0x0a

const lastOf = (text: string): string => text.slice(-idCharacters)

const id = String.raw`"id"\s*:\s*(\d{1,15}|"[\w.:-]{1,100}")\s*`
/** Before the parameters, or after them as the last member: anywhere else it may belong to something inside. */
const atHead = new RegExp(String.raw`^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*${id}[,}]`)
const atTail = new RegExp(String.raw`[}\]"\d]\s*,\s*${id}(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

function idIn({ head, tail }: { head: string; tail: string }): string | number | null {
  const found = (atHead.exec(head) ?? atTail.exec(tail))?.[1]
  return found === undefined ? null : JSON.parse(found)
}
