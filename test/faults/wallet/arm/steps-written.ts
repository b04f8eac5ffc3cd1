import type { Step } from '../points.ts'
import { pass } from './halts.ts'

export interface StepWritten {
  step: Step
  id: string
}

let current: StepWritten[] = []

/** What is written from now on belongs to a decision that begins; a decision that is tried again begins anew. */
export function beginDecision(steps: StepWritten[]): void {
  steps.length = 0
  current = steps
}

/** Written, and not yet committed. */
export function written(step: Step, id: string): void {
  pass(`in ${step}`)
  current.push({ step, id })
}
