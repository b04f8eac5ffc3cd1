import { createHash } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Clock } from '#contract/clock.ts'
import { microUsd } from '#contract/money.ts'
import * as limits from './limits.ts'
import { walletMigrations } from './migrations.ts'
import type { ApprovalFacts, ApprovalQuestion } from './needs-approval.ts'
import { newId } from './new-id.ts'
import { addPayee } from './payees.ts'
import { defaultStateFolder } from './private-file.ts'
import { WalletRefusal } from './refusal.ts'
import type { State } from './state.ts'

export interface Approval {
  id: string
  facts: ApprovalFacts
  requestHash: string
  state: 'pending' | 'approved' | 'denied' | 'expired'
  createdAtMs: number
  /** Until when it can be answered; once approved, until when it serves. */
  expiresAtMs: number
  decidedAtMs: number | null
  /** Where and by whom: `terminal ada`. */
  decidedBy: string | null
  /** The payment or call that used it up; a consent is never used up, it expires. */
  usedBy: string | null
}

/** Questions to a person and their answers, shared by all processes of the machine. */
export interface Approvals {
  /** The row that waits for the answer; the same question of the same request is one row. Refused after a no. */
  ask(facts: ApprovalFacts, requestHash: string): ApprovalQuestion
  /** Whether a person has agreed to exactly this and it still serves. */
  isApproved(facts: ApprovalFacts, requestHash: string): boolean
  /** Uses up an approval of spending; false where there is none. */
  use(facts: ApprovalFacts, requestHash: string, by: string): boolean
  /** What the attempt `by` used up serves again, because nothing was bought with it; what others used up stays used. */
  giveBack(by: string): void
  get(id: string): Approval | null
  /** Newest first. */
  list(state?: Approval['state']): Approval[]
  /** Only for what a person did at a terminal, in a dialogue of their client or on the agent's own page. */
  resolve(id: string, answer: { isApproved: boolean; by: string }): Approval
}

export function openApprovals(state: State, clock: Clock): Approvals {
  const prepared = (): State => {
    state.prepare('wallet', walletMigrations)
    return state
  }
  return {
    ask: (facts, requestHash) => prepared().decide(db => ask(db, facts, requestHash, clock.now(), state.folder)),
    isApproved: (facts, requestHash) => findUsable(prepared().database(), facts, requestHash, clock.now()) !== null,
    use: (facts, requestHash, by) => prepared().decide(db => useApproval(db, facts, requestHash, by, clock.now())),
    giveBack: by => prepared().decide(db => giveBackApproval(db, by)),
    get: id => find(prepared().database(), id, clock.now()),
    list: only => list(prepared().database(), only, clock.now()),
    resolve: (id, answer) => prepared().decide(db => resolve(db, id, answer, clock.now())),
  }
}

/** A top-up's request is what would be paid to whom; two equal ones are one question. */
export const hashOfFacts = (facts: ApprovalFacts): string => createHash('sha256').update(write(facts)).digest('hex')

/** Inside a transaction, so that a waiting question is never doubled. */
export function ask(
  db: DatabaseSync,
  facts: ApprovalFacts,
  requestHash: string,
  nowMs: number,
  folder: string,
): ApprovalQuestion {
  const same = db
    .prepare(
      `SELECT * FROM approvals WHERE kind = ? AND request_hash = ? AND facts = ? AND expires_at_ms > ?
       AND state IN ('pending', 'denied') ORDER BY created_at_ms DESC LIMIT 1`,
    )
    .get(facts.kind, requestHash, write(facts), nowMs)
  if (same?.state === 'denied')
    throw new WalletRefusal({
      rule: 'denied',
      sentence: 'A person has said no to this.',
      nextStep: 'Do not ask again; do something else, or talk with the person.',
    })
  if (same) return asQuestion(read(same, nowMs), folder)
  refuseFlood(db, nowMs)
  checkText(facts)
  const id = newId('ask')
  db.prepare(
    `INSERT INTO approvals (id, kind, request_hash, facts, state, created_at_ms, expires_at_ms)
     VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
  ).run(id, facts.kind, requestHash, write(facts), nowMs, nowMs + limits.questionLifeMs)
  return asQuestion({ id, facts, expiresAtMs: nowMs + limits.questionLifeMs }, folder)
}

export function findUsable(db: DatabaseSync, facts: ApprovalFacts, requestHash: string, nowMs: number): string | null {
  const row = db
    .prepare(
      `SELECT id FROM approvals WHERE kind = ? AND request_hash = ? AND facts = ? AND state = 'approved'
       AND used_by IS NULL AND expires_at_ms > ? LIMIT 1`,
    )
    .get(facts.kind, requestHash, write(facts), nowMs)
  return row ? String(row.id) : null
}

export function useApproval(db: DatabaseSync, facts: ApprovalFacts, requestHash: string, by: string, nowMs: number) {
  const id = findUsable(db, facts, requestHash, nowMs)
  if (id === null) return false
  return db.prepare('UPDATE approvals SET used_by = ? WHERE id = ? AND used_by IS NULL').run(by, id).changes === 1
}

/** What was planned with it was never signed, so the person's yes still stands. */
export const giveBackApproval = (db: DatabaseSync, by: string): void => {
  db.prepare('UPDATE approvals SET used_by = NULL WHERE used_by = ?').run(by)
}

function resolve(db: DatabaseSync, id: string, answer: { isApproved: boolean; by: string }, nowMs: number): Approval {
  const approval = find(db, id, nowMs)
  if (!approval)
    throw new WalletRefusal({
      rule: 'not-found',
      sentence: 'There is no such question.',
      nextStep: 'Run `farebox wallet status` to see what waits for an answer.',
    })
  if (approval.state !== 'pending')
    throw new WalletRefusal({
      rule: 'not-found',
      sentence: `This question is ${approval.state} already.`,
      nextStep: 'Let the assistant ask again if it is still needed.',
    })
  db.prepare('UPDATE approvals SET state = ?, decided_at_ms = ?, decided_by = ?, expires_at_ms = ? WHERE id = ?').run(
    answer.isApproved ? 'approved' : 'denied',
    nowMs,
    answer.by,
    nowMs + limits.approvalLifeMs,
    id,
  )
  if (answer.isApproved && approval.facts.kind === 'payee') addPayee(db, approval.facts, answer.by, nowMs)
  const resolved = find(db, id, nowMs)
  return resolved ?? approval
}

const find = (db: DatabaseSync, id: string, nowMs: number): Approval | null => {
  const row = db.prepare('SELECT * FROM approvals WHERE id = ?').get(id)
  return row ? read(row, nowMs) : null
}

const list = (db: DatabaseSync, only: Approval['state'] | undefined, nowMs: number): Approval[] =>
  db
    .prepare('SELECT * FROM approvals ORDER BY created_at_ms DESC, rowid DESC LIMIT ?')
    .all(limits.maxListed)
    .map(row => read(row, nowMs))
    .filter(approval => only === undefined || approval.state === only)

function refuseFlood(db: DatabaseSync, nowMs: number): void {
  const waiting = db
    .prepare(`SELECT count(*) AS waiting FROM approvals WHERE state = 'pending' AND expires_at_ms > ?`)
    .get(nowMs)?.waiting
  if (Number(waiting) < limits.maxPendingApprovals) return
  throw new WalletRefusal({
    rule: 'too-many-questions',
    sentence: `${limits.maxPendingApprovals} questions wait for a person already.`,
    nextStep: 'Let the person answer some with `farebox wallet approve`.',
  })
}

function checkText(facts: ApprovalFacts): void {
  if (facts.kind !== 'consent' || facts.policyText.length <= limits.maxPolicyTextLength) return
  throw new WalletRefusal({
    rule: 'order',
    sentence: 'The policy text is too long to be shown whole, so nobody can agree to it here.',
    nextStep: "Agree on the service's own site, or use another model.",
  })
}

function asQuestion(
  { id, facts, expiresAtMs }: Pick<Approval, 'id' | 'facts' | 'expiresAtMs'>,
  folder: string,
): ApprovalQuestion {
  const where = folder === defaultStateFolder() ? '' : ` --data '${folder}'`
  const howToApprove = `Run \`farebox wallet approve ${id}${where}\` in a terminal of your own.`
  return { approvalId: id, facts, howToApprove, expiresAtMs }
}

/** Members in a fixed order, so that equal facts are equal texts. */
const write = (facts: ApprovalFacts): string =>
  JSON.stringify(
    Object.entries(facts).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  )

function readFacts(text: string): ApprovalFacts {
  const facts = new Map<string, unknown>(JSON.parse(text))
  const amount = facts.get('amountMicroUsd')
  if (typeof amount === 'string') facts.set('amountMicroUsd', microUsd(BigInt(amount)))
  return Object.fromEntries(facts) as unknown as ApprovalFacts
}

function read(row: Record<string, SQLOutputValue>, nowMs: number): Approval {
  const expiresAtMs = Number(row.expires_at_ms)
  const isOver = expiresAtMs <= nowMs && row.state !== 'denied' && row.used_by === null
  return {
    id: String(row.id),
    facts: readFacts(String(row.facts)),
    requestHash: String(row.request_hash),
    state: isOver ? 'expired' : (row.state as Approval['state']),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs,
    decidedAtMs: row.decided_at_ms === null ? null : Number(row.decided_at_ms),
    decidedBy: row.decided_by === null ? null : String(row.decided_by),
    usedBy: row.used_by === null ? null : String(row.used_by),
  }
}
