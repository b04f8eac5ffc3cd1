import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { comeBy } from '../../arm/fault-orders.ts'
import { gatePollMs } from '../bounds.ts'
import type { WorkOrder } from '../work-order.ts'
import { tell } from './tell.ts'

let awaited = new Set<string>()
let folder = ''
let halts = 0
let skewMs = 0

export function takeHalts({ halts: points, gates, place }: WorkOrder): void {
  awaited = new Set(points)
  folder = gates
  skewMs = place.skewMs
}

/** How far the clock of this process is ahead: it goes on while the process waits. */
export const clockSkewMs = (): number => skewMs

/** Comes by a point: waits at it, the first time, where the order says so; dies at it where the order says that. */
export function pass(point: string): void {
  if (awaited.delete(point)) halt(point)
  comeBy(point)
}

/** Stands still as a stopped process does, also in the middle of a decision, until the harness opens the gate. */
function halt(point: string): void {
  const gate = join(folder, `gate-${process.pid}-${++halts}`)
  tell({ kind: 'halted', point, gate })
  const nobody = new Int32Array(new SharedArrayBuffer(4))
  while (!existsSync(gate)) Atomics.wait(nobody, 0, 0, gatePollMs)
  skewMs = Number(readFileSync(gate, 'utf8'))
}
