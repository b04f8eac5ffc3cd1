import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LedgerState } from '#ledger/ledger-watch.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { leastFreeBytes, probePatienceMs, probeWriteEveryMs } from './bounds.ts'
import type { Service } from './service.ts'

/** What a probe answers: a status and its body. */
export interface Probe {
  status: number
  body: { status: string; ledger: LedgerState['state'] | 'unknown'; reason?: string }
}

const noAnswer = { state: 'unknown', reason: 'The database does not answer.' } as const

interface ProbedParts extends Pick<Service, 'ledger' | 'store' | 'clock'> {
  settings: { mediaFolder: string }
}

/** What `/healthz` and `/readyz` answer. A prober has no patience, so neither waits longer than `waitMs`. */
export class Probes {
  readonly #parts: ProbedParts
  readonly #waitMs: number
  #written: { atMs: number; problem: Promise<string | null> } | null = null

  constructor(parts: ProbedParts, waitMs = probePatienceMs) {
    this.#parts = parts
    this.#waitMs = waitMs
  }

  /** Whether the process lives: a restart would fix neither its database nor its disk. */
  async liveness(): Promise<Probe> {
    const { state } = await this.#state()
    return { status: 200, body: { status: 'ok', ledger: state } }
  }

  /** Whether new calls should come here: the ledger is open, and a charge could be written now. */
  async readiness(): Promise<Probe> {
    const { state, reason } = await this.#state()
    const problem =
      state === 'open' ? ((await diskProblem(this.#parts.settings.mediaFolder)) ?? (await this.#writes())) : reason
    if (problem === null) return { status: 200, body: { status: 'ready', ledger: state } }
    return { status: 503, body: { status: 'not ready', ledger: state, reason: problem } }
  }

  #state(): Promise<LedgerState | typeof noAnswer> {
    return this.#within(
      this.#parts.ledger.state().catch(() => noAnswer),
      noAnswer,
    )
  }

  /** Asked by a write, because a full or read-only disk can still be read. Many probers share one write. */
  #writes(): Promise<string | null> {
    const atMs = this.#parts.clock.now()
    if (!this.#written || atMs - this.#written.atMs >= probeWriteEveryMs) {
      const refused = 'The database takes no writes.'
      this.#written = {
        atMs,
        problem: this.#within(
          this.#write(atMs).catch(() => refused),
          'The database does not answer a write.',
        ),
      }
    }
    return this.#written.problem
  }

  /** The row is pruned with the nonces. */
  async #write(atMs: number): Promise<null> {
    const id = `${uuidV7(atMs)}/probe`
    await this.#parts.store.commit([{ id, ops: [{ op: 'nonce', key: `probe:${id}`, expiresAtMs: atMs }] }])
    return null
  }

  async #within<Value>(answer: Promise<Value>, otherwise: Value): Promise<Value> {
    const patience = new AbortController()
    const late = sleep(this.#waitMs, otherwise, { signal: patience.signal }).catch(() => otherwise)
    try {
      return await Promise.race([answer, late])
    } finally {
      patience.abort()
    }
  }
}

/** Why finished media could not be kept in the folder that this one lies in; null where they can. */
async function diskProblem(mediaFolder: string): Promise<string | null> {
  const folder = dirname(mediaFolder)
  try {
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < leastFreeBytes) return 'The disk of the data folder is full.'
    await access(folder, constants.W_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A service on PostgreSQL makes its folder with its first file.
    if (code === 'ENOENT') return null
    return code === 'EROFS' ? 'The disk of the data folder is read-only.' : 'The data folder cannot be written to.'
  }
}
