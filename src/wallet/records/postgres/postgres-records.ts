import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { newId } from '../../ids.ts'
import * as limits from '../../limits.ts'
import type { Records, Work } from '../records.ts'
import { postgresMigrations } from '../schema.ts'
import {
  type Ask,
  beginDecision,
  beginReading,
  JournalAway,
  journalAway,
  lend,
  openPool,
  prepare,
} from './connection.ts'

/**
 * Records in a PostgreSQL database that any number of replicas share. Each decision locks the single row of `journal`,
 * so that all replicas decide one after another, and uses only the database's clock.
 */
export function postgresRecords(url: string, attemptsMs: number = limits.journalAttemptsMs): Records {
  let opening: Promise<pg.Pool> | undefined
  let last: Promise<unknown> = Promise.resolve()
  const opened = (): Promise<pg.Pool> => {
    opening ??= openPrepared(url).catch(error => {
      // The next attempt may succeed.
      opening = undefined
      throw error
    })
    return opening
  }
  return {
    folder: null,
    decide(work) {
      // Decisions also run one at a time within this process, so they queue on a single connection.
      const decision = last.then(() => untilAnswered(new Decision(work), opened, attemptsMs))
      last = decision.catch(() => undefined)
      return decision
    },
    read: work => untilAnswered({ attempt: ask => readOnce(ask, work) }, opened, attemptsMs),
    async close() {
      const closing = opening
      opening = undefined
      await last
      await (await closing?.catch(() => undefined))?.end()
    },
  }
}

async function openPrepared(url: string): Promise<pg.Pool> {
  const pool = await openPool(url)
  try {
    await lend(pool, ask => prepare(ask, postgresMigrations))
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}

interface Attempted<Result> {
  /** May be attempted again over another connection after `JournalAway`. */
  attempt(ask: Ask): Promise<Result>
}

async function untilAnswered<Result>(
  attempted: Attempted<Result>,
  opened: () => Promise<pg.Pool>,
  attemptsMs: number,
): Promise<Result> {
  const givesUpAt = performance.now() + attemptsMs
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs * 2 || limits.journalFirstPauseMs, limits.journalLongestPauseMs)) {
    try {
      return await lend(await opened(), ask => attempted.attempt(ask))
    } catch (error) {
      if (!(error instanceof JournalAway)) throw error
      if (performance.now() + pauseMs > givesUpAt) throw journalAway(error.code)
      await sleep(pauseMs)
    }
  }
}

/** One decision, with as many attempts as it needs. */
class Decision<Result> implements Attempted<Result> {
  readonly #work: (nowMs: number) => Work<Result>
  readonly #unit = newId('unit')
  /** Whether a COMMIT without an answer took effect. */
  #undecided: { result: Result } | null = null

  constructor(work: (nowMs: number) => Work<Result>) {
    this.#work = work
  }

  async attempt(ask: Ask): Promise<Result> {
    const nowMs = await beginDecision(ask)
    // Once it holds the row's lock, the earlier transaction has ended one way or the other.
    if (this.#undecided && (await this.#isCommitted(ask))) {
      await ask('ROLLBACK')
      return this.#undecided.result
    }
    this.#undecided = null
    const { result, hasChanged } = await carryOut(ask, this.#work(nowMs))
    if (!hasChanged) {
      await ask('ROLLBACK')
      return result
    }
    this.#undecided = { result }
    await ask(`INSERT INTO units (id, at_ms) VALUES ('${this.#unit}', ${nowMs});
      DELETE FROM units WHERE at_ms < ${nowMs - limits.unitLifeMs}; COMMIT`)
    return result
  }

  async #isCommitted(ask: Ask): Promise<boolean> {
    return (await ask('SELECT id FROM units WHERE id = $1', [this.#unit])).rows.length === 1
  }
}

async function readOnce<Result>(ask: Ask, work: (nowMs: number) => Work<Result>): Promise<Result> {
  const { result } = await carryOut(ask, work(await beginReading(ask)))
  await ask('ROLLBACK')
  return result
}

async function carryOut<Result>(ask: Ask, work: Work<Result>): Promise<{ result: Result; hasChanged: boolean }> {
  let hasChanged = false
  let step = work.next()
  while (!step.done) {
    const { text, values, isChange } = step.value
    let place = 0
    const numbered = text.replaceAll('?', () => `$${++place}`)
    hasChanged ||= isChange
    step = work.next(await ask(numbered, values))
  }
  return { result: step.value, hasChanged }
}
