// A file of its own, because the types of `farebox/service` show it, and must not show the store.

/** Abuse blocks of this process, or of all processes of a service. */
export interface OperatedBlocks {
  blocked(): Blocked[] | Promise<Blocked[]>
  lift(subject: string): void | Promise<void>
}

interface Blocked {
  subject: string
  untilMs: number
}
