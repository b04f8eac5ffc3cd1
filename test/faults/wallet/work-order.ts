import type { PolicySettings } from '#wallet/rules/policy.ts'
import type { FaultOrder } from '../arm/fault-orders.ts'
import type { FlightPoint, HaltPoint, Step } from './points.ts'

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
  /** Where it waits, the first time that it comes by, until its gate is there. */
  halts: readonly HaltPoint[]
  /** The folder of the gates. */
  gates: string
}

/** What a process tells while it works. */
export type Told =
  | { kind: 'step'; step: Step; id: string }
  | { kind: 'signs' }
  | { kind: 'ready' }
  /** Another process has the turn. */
  | { kind: 'waits' }
  | { kind: 'waited' }
  /** Goes on once there is a file of the name `gate`, with the clock's skew in it. */
  | { kind: 'halted'; point: string; gate: string }
  | { kind: 'action'; action: number }
  | { kind: 'dies'; point: FlightPoint; nonce: string }
  | { kind: 'done'; answers: string[]; failures: string[] }
