import type { Balance, EntryFold, PruneSlice } from '../store.ts'
import type { Unit } from '../units.ts'
import type { UnitResult } from './batch.ts'

/** What the store and its writer's thread send each other. One request at a time; each is answered by one message. */
export type WriterRequest =
  | { ask: 'commit'; units: readonly Unit[] }
  | { ask: 'prune'; slice: PruneSlice; rows: number }
  | { ask: 'fold'; fold: EntryFold }
  | { ask: 'endHolds'; owner: string; atMs: number }
  | { ask: 'close' }

export type WriterAnswer =
  | { answer: 'ready' }
  | { answer: 'outcomes'; list: ResultList }
  | { answer: 'done'; rows: number }
  | { answer: 'failed'; message: string }

export interface WriterData {
  path: string
}

/**
 * The results of a batch in one list of plain values, because copying objects between threads costs several times as
 * much. A unit that was applied is `again`, the number of its balances, and the three members of each; any other result
 * is there as it is.
 */
export type ResultList = readonly (boolean | number | string | bigint | Exclude<UnitResult, { ok: true }>)[]

export function listOf(results: readonly UnitResult[]): ResultList {
  const list: ResultList[number][] = []
  for (const result of results) {
    if (!('ok' in result && result.ok)) {
      list.push(result)
      continue
    }
    list.push(result.again, result.balances.length)
    for (const { account, posted, held } of result.balances) list.push(account, posted, held)
  }
  return list
}

export function resultsIn(list: ResultList): UnitResult[] {
  const results: UnitResult[] = []
  for (let at = 0; at < list.length; ) {
    const first = list[at++]
    if (typeof first === 'object') {
      results.push(first)
      continue
    }
    const count = list[at++] as number
    const balances: Balance[] = []
    for (const end = at + 3 * count; at < end; at += 3) {
      const [account, posted, held] = [list[at], list[at + 1], list[at + 2]]
      balances.push({ account, posted, held } as Balance)
    }
    results.push({ ok: true, again: first as boolean, balances })
  }
  return results
}
