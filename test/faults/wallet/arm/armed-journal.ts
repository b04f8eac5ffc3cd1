import * as real from '#wallet/records/journal.ts'
import type { Work } from '#wallet/records/records.ts'
import type { Step } from '../points.ts'
import { pass } from './halts.ts'
import { written } from './steps-written.ts'

export * from '#wallet/records/journal.ts'

function* stepping(step: Step, id: string, work: Work<void>): Work<void> {
  pass(`before ${step}`)
  yield* work
  written(step, id)
}

export const plan: typeof real.plan = (planned, nowMs) => stepping('planned', planned.id, real.plan(planned, nowMs))

export const toSigned: typeof real.toSigned = (id, ...rest) => stepping('signed', id, real.toSigned(id, ...rest))

export const toSent: typeof real.toSent = (id, ...rest) => stepping('sent', id, real.toSent(id, ...rest))

export const toUnknown: typeof real.toUnknown = (id, ...rest) => stepping('unknown', id, real.toUnknown(id, ...rest))

export const toConfirmed: typeof real.toConfirmed = (id, ...rest) =>
  stepping('confirmed', id, real.toConfirmed(id, ...rest))

export const toDead: typeof real.toDead = (id, ...rest) => stepping('dead', id, real.toDead(id, ...rest))
