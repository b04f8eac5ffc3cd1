/** What one side says when it likes, for a reader that takes it in order. It is as long as one answer at most. */
export class PieceQueue<Piece> implements AsyncIterable<Piece> {
  readonly #pieces: Piece[] = []
  #wake: () => void = () => {}
  #isOver = false

  push(piece: Piece): void {
    this.#pieces.push(piece)
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece> {
    for (;;) {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) yield piece
      if (this.#isOver) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}
