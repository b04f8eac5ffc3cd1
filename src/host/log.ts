/** Facts first, then a sentence; no fact is ever a secret, a prompt or a signature. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
