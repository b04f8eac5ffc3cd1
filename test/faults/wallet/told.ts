import type { PolicySettings } from '#wallet/policy.ts'
import type { FaultOrder } from '../arm/fault-orders.ts'
import type { FlightPoint, Step } from './points.ts'

/** What a process of the harness does next. */
export type Action = { kind: 'call' } | { kind: 'topUp'; usd: number; again: boolean }

export interface WalletPlace {
  baseUrl: string
  folder: string
  notesFolder: string
  journalUrl: string | null
  policy: Omit<PolicySettings, 'serviceUrl'>
  /** How far the clock of the round is ahead; a journal in a database has its own. */
  skewMs: number
}

/** With actions: pays for them. Without any: only brings to an end what others have left. */
export interface WorkOrder {
  place: WalletPlace
  actions: readonly Action[]
  kill: FaultOrder['kill']
}

/** What a process tells while it works. */
export type Told =
  | { kind: 'step'; step: Step; id: string }
  | { kind: 'ready' }
  | { kind: 'waited' }
  | { kind: 'action'; action: number }
  | { kind: 'dies'; point: FlightPoint; nonce: string }
  | { kind: 'done'; answers: string[]; failures: string[] }
