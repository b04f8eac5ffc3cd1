import type { Outcome, Refusal } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import type { InterestingState } from './sometimes.ts'

type Of<Name extends Op['op']> = Extract<Op, { op: Name }>

/** States that one applied operation shows by itself. */
export function statesOf(op: Op, unit: Unit): InterestingState[] {
  switch (op.op) {
    case 'extend':
      return ['a hold grew while its call went on']
    case 'renew':
      return op.owed ? ['a running call wrote down what it owed'] : []
    case 'release':
      return isRecovery(unit) ? ['a dead hold was freed'] : []
    case 'capture':
      return captured(op, unit)
    case 'refund':
      return ['a job was refunded']
    case 'job':
      return movedJob(op)
    case 'payment':
      return movedPayment(op, unit)
    case 'claim':
      return movedClaim(op)
    case 'ledger':
      return op.state === 'read_only' ? ['the ledger was read-only'] : []
    default:
      return []
  }
}

const isRecovery = ({ id }: Unit): boolean => id.endsWith('/recover')

function captured({ writeOff }: Of<'capture'>, unit: Unit): InterestingState[] {
  const states: InterestingState[] = []
  if (isRecovery(unit)) states.push('a dead hold was charged what its checkpoint said')
  if (writeOff) states.push('a call cost more than its hold, and the rest was written off')
  return states
}

function movedJob({ from, to, set }: Of<'job'>): InterestingState[] {
  if (to === 'failed') return ['a job failed']
  if (to === 'completed') return ['a job was completed']
  if (from === 'running' && to === 'running' && set.lease === null) return ['a job of a dead process was set free']
  if (from === 'running' && to === 'running' && set.engineState === undefined) return ['a job was taken up again']
  return []
}

function movedPayment({ payment, from, to }: Of<'payment'>, { ops }: Unit): InterestingState[] {
  const isCredit = to === 'credited'
  if (from === 'unknown' && isCredit) return ['a settlement was unknown, and then credited']
  if (from === 'settling' && isCredit) return ['a settlement was credited at once']
  if (from === null && isCredit) return ['a payment was credited that somebody else had brought']
  if (from === 'rejected' && ops.length > 0 && to !== 'rejected') return ['a rejected payment was taken up again']
  if (to === 'rejected') return ['a payment was rejected']
  if (to === 'expired' && payment.startsWith('svm:')) return ['a payment on Solana expired']
  if (to === 'expired') return ['a payment expired']
  if (from === 'settling' && to === 'unknown') return ['a settlement became unknown']
  if (from === 'unknown' && to === 'settling') return ['an unknown payment was settled again']
  return []
}

function movedClaim({ to }: Of<'claim'>): InterestingState[] {
  if (to === 'gone') return ['a key was given up']
  return to === 'done' ? ['an answer was kept under its key'] : []
}

/** Refusals that are part of the plan. */
const refusals: Partial<Record<Refusal, InterestingState>> = {
  over_budget: 'a key had used up its budget',
  too_many_open: 'an account had too many calls open',
  read_only: 'a hold was refused because the ledger was read-only',
  job_moved: 'two processes moved one job',
  payment_moved: 'two drivers moved one payment',
  claim_moved: 'two processes moved one key',
  no_hold: 'a hold had been recovered from a process that lived',
}

/** States that the judgement of a whole unit shows. */
export function statesOfOutcome(unit: Unit, outcome: Outcome): InterestingState[] {
  if (!outcome.ok) {
    // A renewal that crosses the end of its hold is refused as well, and says nothing.
    if (outcome.why === 'no_hold' && unit.ops[outcome.op]?.op !== 'capture') return []
    const state = refusals[outcome.why]
    return state ? [state] : []
  }
  return outcome.again ? ['a commit came again and got its first outcome'] : []
}
