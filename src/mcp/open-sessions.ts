import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { sessionLimits } from './bounds.ts'

export interface Session {
  transport: WebStandardStreamableHTTPServerTransport
  lastUsedAtMs: number
  /** Requests whose answers have not ended. */
  underWay: number
}

/**
 * The sessions of a server, never more than their bound. One that begins holds a place from before anything is made for it;
 * only once the protocol has taken it does the session that was unused longest make room, so that a refused one ends none.
 */
export class OpenSessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>()
  readonly #onError: (error: Error) => void
  #beginning = 0

  constructor(onError: (error: Error) => void) {
    this.#onError = onError
  }

  /** The session of this id, as the one used last. */
  use(id: string, nowMs: number): Session | undefined {
    const session = this.#sessions.get(id)
    if (!session) return undefined
    session.lastUsedAtMs = nowMs
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return session
  }

  /** Holds a place for a session that begins; false where every place has a call under way or is held. */
  hold(nowMs: number): boolean {
    this.#endUnused(nowMs)
    const busy = [...this.#sessions.values()].filter(({ underWay }) => underWay > 0).length
    if (busy + this.#beginning >= sessionLimits.open) return false
    this.#beginning += 1
    return true
  }

  /** Gives back what `hold` gave, whatever has come of it. */
  letGo(): void {
    this.#beginning -= 1
  }

  /** Lets a session in; false where all others have got a call under way since its place was held. */
  add(id: string, session: Session): boolean {
    if (this.#sessions.size >= sessionLimits.open) {
      const [unused] = [...this.#sessions].find(([, { underWay }]) => underWay === 0) ?? []
      if (unused === undefined) return false
      this.#end(unused)
    }
    this.#sessions.set(id, session)
    return true
  }

  forget(id: string): void {
    this.#sessions.delete(id)
  }

  async close(): Promise<void> {
    const open = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(open.map(({ transport }) => transport.close()))
  }

  #endUnused(nowMs: number): void {
    for (const [id, { underWay, lastUsedAtMs }] of [...this.#sessions]) {
      if (underWay === 0 && nowMs - lastUsedAtMs >= sessionLimits.idleMs) this.#end(id)
    }
  }

  #end(id: string): void {
    const session = this.#sessions.get(id)
    this.#sessions.delete(id)
    session?.transport.close().catch(this.#onError)
  }
}
