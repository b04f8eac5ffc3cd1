import { openRecords as open } from '#wallet/records/open-records.ts'
import { pass } from './halts.ts'
import { beginDecision, type StepWritten } from './steps-written.ts'
import { tell } from './tell.ts'

export * from '#wallet/records/open-records.ts'

/** Comes by a point after each step whose decision stands. */
export const openRecords: typeof open = (...where) => {
  const records = open(...where)
  return {
    ...records,
    async decide(work) {
      const steps: StepWritten[] = []
      const result = await records.decide(function* (nowMs) {
        beginDecision(steps)
        return yield* work(nowMs)
      })
      for (const { step, id } of steps) {
        tell({ kind: 'step', step, id })
        pass(`after ${step}`)
      }
      return result
    },
  }
}
