import type { PruneSlice } from '../store.ts'
import type { Unit } from '../units.ts'
import type { UnitResult } from './batch.ts'

/** One request at a time; each is answered by one message. */
export type WriterRequest =
  | { ask: 'commit'; units: readonly Unit[] }
  | { ask: 'prune'; slice: PruneSlice; rows: number }
  | { ask: 'close' }

export type WriterAnswer =
  | { answer: 'ready' }
  | { answer: 'outcomes'; results: UnitResult[] }
  | { answer: 'pruned'; rows: number }
  | { answer: 'failed'; message: string }

export interface WriterData {
  path: string
}
