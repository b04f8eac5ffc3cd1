import { behaviours } from './behaviours.ts'
import { points } from './points.ts'

const others = ['two processes at once in a payment', 'a payment that another process has ended', 'a kill at no point']

/** What a run has to have met, and how often it has. */
export class Tally {
  readonly states = new Map<string, number>(
    [...behaviours.map(met), ...points.map(killedAt), ...others].map(state => [state, 0]),
  )
  rounds = 0
  processes = 0
  authorizations = 0
  settledMicroUsd = 0n
  resolved = 0

  reach(state: string): void {
    const before = this.states.get(state)
    if (before === undefined) throw new Error(`Nobody counts how often this is met: ${state}.`)
    this.states.set(state, before + 1)
  }

  get missed(): string[] {
    return [...this.states].flatMap(([state, times]) => (times === 0 ? [state] : []))
  }
}

export const met = (behaviour: string): string => `answered: ${behaviour}`
export const killedAt = (point: string): string => `killed: ${point}`
export const [atOnce = '', endedByAnother = '', killedAnywhere = ''] = others
