import { behaviours } from './behaviours.ts'
import { points, pointsBetweenDecisions, pointsInDecisions } from './points.ts'
import { storyNames } from './stories.ts'

const others = [
  'two processes at once in a payment',
  'a payment that another process has ended',
  'a kill at no point',
  'switched off over a payment',
  'a turn that ran out over a payment',
  'a payment that the user approved',
]

/** What a run has to have met, and how often it has. */
export class Tally {
  readonly states = new Map<string, number>(
    [
      ...storyNames.map(told),
      ...behaviours.map(met),
      ...points.map(killedAt),
      ...[...pointsBetweenDecisions, ...pointsInDecisions].map(halted),
      ...others,
    ].map(state => [state, 0]),
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
export const told = (story: string): string => `story: ${story}`
export const halted = (point: string): string => `halted: ${point}`
export const [atOnce = '', endedByAnother = '', killedAnywhere = '', switchedOff = '', ranOut = '', agreed = ''] =
  others
