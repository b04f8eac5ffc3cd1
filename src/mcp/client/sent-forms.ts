import { formReadMs, rememberedForms } from '../bounds.ts'

/**
 * Forms that were sent to clients and not yet answered by the user. Some clients declare that they show forms, but
 * answer each by themselves, or never; the user is then told in the result where to decide.
 */
export class SentForms {
  /** When each was first sent, in Unix milliseconds, oldest first. */
  readonly #sent = new Map<string, number>()

  noteSent(form: string, nowMs: number): void {
    if (this.#sent.has(form)) return
    this.#sent.set(form, nowMs)
    const [oldest] = this.#sent.keys()
    if (oldest !== undefined && this.#sent.size > rememberedForms) this.#sent.delete(oldest)
  }

  noteAnswered(form: string): void {
    this.#sent.delete(form)
  }

  /** The client answered it, and not the user. */
  noteUnseen(form: string): void {
    this.#sent.set(form, Number.NEGATIVE_INFINITY)
  }

  /** Whether this form was sent before, and the user cannot or did not answer it. Two calls at once both send it. */
  isUnanswered(form: string, nowMs: number): boolean {
    const sentAtMs = this.#sent.get(form)
    return sentAtMs !== undefined && !isTooSoon(sentAtMs, nowMs)
  }
}

/** Whether an answer came sooner than a user can read the form. */
export const isTooSoon = (sentAtMs: number, nowMs: number): boolean => nowMs - sentAtMs < formReadMs
