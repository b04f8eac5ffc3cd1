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

type Generated = Readonly<Record<string, unknown>>

/** `reasoning_content`, `reasoning`, `reasoning_details`, `thinking`, `thinking_blocks`: engines have many names for it. */
const thinks = (name: string): boolean => /^(reasoning|thinking)/i.test(name)

/**
 * A message, or a piece of one, without what its engine put beside the answer as reasoning, in members of their own or in
 * parts of the content. The same one where there is none.
 */
export function withoutReasoning<Message extends Generated>(message: Message): Message {
  const { content } = message
  const parts = Array.isArray(content) ? content.filter(({ type }) => !thinks(String(type))) : null
  const others = Object.entries(message).filter(([name]) => !thinks(name))
  const hasParts = parts !== null && parts.length < (content as unknown[]).length
  if (others.length === Object.keys(message).length && !hasParts) return message
  return { ...Object.fromEntries(others), ...(parts ? { content: parts } : {}) } as Message
}
