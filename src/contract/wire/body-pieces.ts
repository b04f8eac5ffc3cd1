/**
 * Smaller pieces are copied together: kept as an object, each piece takes hundreds of bytes, so a body in pieces of one
 * byte would take hundreds of times its size.
 */
const smallBytes = 4 * 1024

/** How much space is reserved for small pieces at a time. */
const spaceBytes = 16 * 1024

/** Collects the pieces of a body, however small they are. */
export class BodyPieces {
  readonly #pieces: Uint8Array[] = []
  #bytes = 0
  /** Its beginning contains the small pieces that are not among `#pieces` yet. */
  #space = Buffer.alloc(0)
  #used = 0

  /** How many bytes were added. */
  get bytes(): number {
    return this.#bytes
  }

  add(piece: Uint8Array): void {
    const isFirst = this.#bytes === 0
    this.#bytes += piece.byteLength
    // Most bodies are one piece.
    if (isFirst || piece.byteLength >= smallBytes) {
      this.#endSpace()
      this.#pieces.push(piece)
      return
    }
    if (this.#used + piece.byteLength > this.#space.byteLength) {
      this.#endSpace()
      this.#space = Buffer.allocUnsafeSlow(spaceBytes)
    }
    this.#space.set(piece, this.#used)
    this.#used += piece.byteLength
  }

  /** Returns all bytes in a buffer of their own. */
  whole(): Buffer {
    this.#endSpace()
    return Buffer.concat(this.#pieces)
  }

  #endSpace(): void {
    if (this.#used > 0) this.#pieces.push(this.#space.subarray(0, this.#used))
    this.#space = this.#space.subarray(this.#used)
    this.#used = 0
  }
}
