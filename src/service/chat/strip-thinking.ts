/**
 * Removes `<think>…</think>` from text that may come in pieces cut anywhere (brief §2.8, the legacy tag format).
 * Text that might be the beginning of a tag is kept back until the next piece decides.
 */
export class ThinkingStripper {
  #inside = false
  #kept = ''
  #afterBlock = false

  /** The part of what has come so far that may be shown now. */
  push(piece: string): string {
    let rest = this.#kept + piece
    let shown = ''
    this.#kept = ''
    for (;;) {
      const tag = this.#inside ? '</think>' : '<think>'
      const at = rest.indexOf(tag)
      if (at === -1) {
        const tail = openTail(rest, tag)
        if (!this.#inside) shown += this.#visible(rest.slice(0, rest.length - tail))
        this.#kept = rest.slice(rest.length - tail)
        return shown
      }
      if (!this.#inside) shown += this.#visible(rest.slice(0, at))
      else this.#afterBlock = true
      this.#inside = !this.#inside
      rest = rest.slice(at + tag.length)
    }
  }

  /** What was kept back and turned out to be no tag; nothing when a block was left open. */
  end(): string {
    const kept = this.#inside ? '' : this.#kept
    this.#kept = ''
    return kept
  }

  /** The blank lines that separate a block from the answer go with the block. */
  #visible(text: string): string {
    if (!this.#afterBlock) return text
    const trimmed = text.replace(/^\s+/, '')
    if (trimmed) this.#afterBlock = false
    return trimmed
  }
}

/** Length of the longest end of `text` that is a beginning of `tag`. */
function openTail(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (tag.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}

export function stripThinking(text: string): string {
  const stripper = new ThinkingStripper()
  return stripper.push(text) + stripper.end()
}
