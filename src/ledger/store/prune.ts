import {
  claimRetentionMs,
  limitLogRetentionMs,
  limitLogRows,
  nonceRetentionMs,
  pruneSliceRows,
  pruneSlices,
  unitRetentionMs,
} from './bounds.ts'
import type { PruneSlice, Store } from './store.ts'
import { uuidV7Floor } from './uuid-v7.ts'

export interface Pruned {
  units: number
  nonces: number
  claims: number
  limitRows: number
}

/**
 * Deletes what nobody can ask for any more: old outcomes, expired nonces, old claims that nobody works under, old rows of the log of met
 * limits. Called on a timer by the service. It goes slice by slice, so that commits run in between.
 */
export async function pruneStore(store: Pick<Store, 'prune'>, nowMs: number): Promise<Pruned> {
  const longAgo = { table: 'unit', beforeId: uuidV7Floor(Math.max(0, nowMs - unitRetentionMs)) } as const
  const expired = { table: 'nonce', expiredBeforeMs: nowMs - nonceRetentionMs } as const
  const oldLimits = { createdBeforeMs: nowMs - limitLogRetentionMs, keepNewest: limitLogRows }
  return {
    units: await pruneTable(store, longAgo),
    nonces: await pruneTable(store, expired),
    claims: await pruneTable(store, { table: 'claim', createdBeforeMs: nowMs - claimRetentionMs }),
    limitRows: await pruneTable(store, { table: 'limit_log', ...oldLimits }),
  }
}

async function pruneTable(store: Pick<Store, 'prune'>, slice: PruneSlice): Promise<number> {
  let pruned = 0
  for (let slices = 0; slices < pruneSlices; slices++) {
    const rows = await store.prune(slice, pruneSliceRows)
    pruned += rows
    if (rows < pruneSliceRows) break
  }
  return pruned
}
