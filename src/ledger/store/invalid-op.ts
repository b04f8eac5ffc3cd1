import {
  amountMicroUsd,
  captureLines,
  integerMaximum,
  jsonCharacters,
  nameCharacters,
  unitOperations,
} from '../bounds.ts'
import { isReservedRef, type Line, type Op, type Unit } from './units.ts'
import { startsWithUuidV7 } from './uuid-v7.ts'

/** The position of a refusal for which no single operation is the reason. */
const wholeUnit = -1

/**
 * Returns the index of the first operation that no store could apply, −1 if the unit itself is wrong, null if all are
 * valid.
 */
export function invalidOp(unit: Unit): number | null {
  const { id, ops } = unit
  if (!startsWithUuidV7(id) || id.length > nameCharacters || !isStorable(id)) return wholeUnit
  if (!Array.isArray(ops) || ops.length === 0 || ops.length > unitOperations) return wholeUnit
  const index = ops.findIndex(op => !isSound(op) || !isMeant(op))
  return index === -1 ? null : index
}

/** Names of text members that may be large; every other text is a name. */
const jsonMembers = new Set([
  'input',
  'engineState',
  'result',
  'failure',
  'payload',
  'answer',
  'before',
  'after',
  'proofs',
])

/** No negative money, no fraction, no unlimited text: every value must fit into its column. */
function isSound(value: object): boolean {
  const members = value as Record<string, unknown>
  // Iterates over names, because creating pairs takes more than twice as long, for every unit that is written.
  for (const name of Object.keys(members)) if (!isSoundMember(name, members[name])) return false
  return true
}

function isSoundMember(name: string, member: unknown): boolean {
  switch (typeof member) {
    case 'bigint':
      return member >= 0n && member <= (name === 'amount' ? amountMicroUsd : integerMaximum)
    case 'number':
      return Number.isSafeInteger(member) && member >= 0
    case 'string':
      return member.length <= (jsonMembers.has(name) ? jsonCharacters : nameCharacters) && isStorable(member)
    case 'object':
      return member === null || isSound(member)
    default:
      return member === undefined
  }
}

/** PostgreSQL cannot store NUL, and a lone surrogate would come back as another character from either store. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** What an operation must contain, beyond the types of its members. */
function isMeant(op: Op): boolean {
  switch (op.op) {
    case 'account':
      return op.account !== '' && !op.account.startsWith('system:')
    case 'credit':
      return op.amount > 0n && !isReservedRef(op.ref)
    case 'renew':
      return (op.owed?.lines.length ?? 0) <= captureLines
    case 'capture':
      return op.lines.length <= captureLines && (op.writeOff ?? 0n) <= sumOf(op.lines)
    case 'job':
      return op.from === null ? op.fence === 0 && hasJobInput(op.set) : isSameJob(op.set)
    case 'payment':
      return op.from !== null || op.fence === 0
    case 'operator':
      return op.operator !== '' && (op.set !== null || op.fence > 0)
    case 'claim':
      return isClaimMove(op)
    default:
      return true
  }
}

type JobSet = Extract<Op, { op: 'job' }>['set']

const hasJobInput = ({ account, model, request, input }: JobSet): boolean =>
  [account, model, request, input].every(member => typeof member === 'string')

/** A job never changes its account or the request that paid for it. */
const isSameJob = ({ account, request }: JobSet): boolean => account === undefined && request === undefined

const sumOf = (lines: readonly Line[]): bigint => lines.reduce((sum, line) => sum + line.amount, 0n)

type ClaimMove = Extract<Op, { op: 'claim' }>

function isClaimMove({ from, to, fence, set }: ClaimMove): boolean {
  const identity = [set.account, set.request, set.fingerprint]
  if (to === 'done' && typeof set.answer !== 'string') return false
  if (from === null) return to !== 'gone' && fence === 0 && identity.every(member => typeof member === 'string')
  return identity.every(member => member === undefined)
}
