import { createHash } from 'node:crypto'
import { microUsd } from '#contract/money.ts'
import { displayUntil } from '#contract/time.ts'
import { newId } from '../ids.ts'
import * as limits from '../limits.ts'
import { homeDataFolder } from '../private-file.ts'
import { all, change, first, type Records, type Row, type Work } from '../records/records.ts'
import { textOrNull } from '../records/state-rows.ts'
import { addPayee } from '../rules/payees.ts'
import { type DecidedCall, recorded, recordRefusal } from '../rules/refusals.ts'
import { type AskedAbout, readAbout, writeAbout } from '../terms/about-call.ts'
import { type ApprovalFacts, type ConsentFacts, type PendingApproval, requestWords } from '../terms/approval.ts'
import { type RefusedTerms, WalletRefusal } from '../terms/refusal.ts'
import { inTheWay } from './approval-limits.ts'
import { type Attested, type ConsentedMediaItem, findAttested, noteAttested } from './attested-media.ts'

export interface Approval {
  id: string
  facts: ApprovalFacts
  /** What the call that needs approval is about; null if unknown, and from a day after the request has ended. */
  about: AskedAbout | null
  origin: string
  requestHash: string
  state: 'pending' | 'approved' | 'denied' | 'expired'
  createdAtMs: number
  /**
   * While pending: until when it can be answered. Once approved: until when it is valid. Once denied: until when the
   * same request is refused.
   */
  expiresAtMs: number
  decidedAtMs: number | null
  /** Where and by whom: `terminal ada`. */
  decidedBy: string | null
  /** The payment or call that used it up. A consent is not used up: it expires. */
  usedBy: string | null
}

/** Requests for approval and the user's decisions, shared by all processes on these records. */
export interface Approvals {
  /** Returns the pending row; equal requests share one row. Throws if the user has denied this request. */
  ask(facts: ApprovalFacts, requestHash: string, call: DecidedCall): Promise<PendingApproval>
  /** Throws if a denial of this request is still valid, even if it would no longer need approval. */
  refuseDenied(requestHash: string, call: DecidedCall): Promise<void>
  /**
   * Returns whether the user has approved exactly this, and the approval is still valid. For a consent, the price must
   * not be higher than the one that was shown.
   */
  isApproved(facts: ApprovalFacts, requestHash: string, about?: AskedAbout): Promise<boolean>
  /** Uses up an approval to spend; returns false if there is none. */
  use(facts: ApprovalFacts, requestHash: string, by: string): Promise<boolean>
  /**
   * Makes the approval that the attempt `by` used up valid again, because nothing was bought. Approvals that other
   * attempts used up stay used.
   */
  giveBack(by: string): Promise<void>
  /** Records which media are about to be sent to a service with a consent. */
  noteAttested(origin: string, facts: ConsentFacts, media: readonly ConsentedMediaItem[]): Promise<void>
  /**
   * Returns which of these media the service may recognize from a consent to another request, so that it does not ask;
   * null if none.
   */
  attested(origin: string, media: readonly ConsentedMediaItem[]): Promise<Attested | null>
  get(id: string): Promise<Approval | null>
  /** Newest first. */
  list(state?: Approval['state']): Promise<Approval[]>
  /** Returns the request in the words that the user sees. */
  asPending(approval: Approval): PendingApproval
  /** Only for a decision of the user at a terminal, in a client's dialog or on the agent's own page. */
  resolve(id: string, answer: Answer): Promise<Approval>
}

interface Answer {
  isApproved: boolean
  by: string
  /** Whether an approval may reverse a denial that is still valid; only for the user at a terminal. */
  takesBack?: boolean
}

/** `folder` is used in the advice on where to approve. */
export const openApprovals = (records: Records, folder: string): Approvals => ({
  ask: (facts, requestHash, call) =>
    recorded(records, call, {}, () => records.decide(nowMs => ask(facts, requestHash, nowMs, folder, call))),
  refuseDenied: (requestHash, call) =>
    recorded(records, call, {}, () => records.read(nowMs => refuseDenied(requestHash, nowMs, folder))),
  isApproved: (facts, requestHash, about) =>
    records.read(function* (nowMs) {
      const row = yield* findUsable(facts, requestHash, nowMs)
      return row !== null && covers(row, about)
    }),
  use: (facts, requestHash, by) => records.decide(nowMs => useApproval(facts, requestHash, by, nowMs)),
  giveBack: by => records.decide(() => giveBackApproval(by)),
  noteAttested: (origin, facts, media) =>
    records.decide(nowMs => noteAttested({ origin, facts: write(facts), media }, nowMs)),
  attested: (origin, media) => records.read(() => findAttested(origin, media, text => readFacts(text) as ConsentFacts)),
  get: id => records.read(nowMs => find(id, nowMs)),
  list: only => records.read(nowMs => list(only, nowMs)),
  asPending: approval => asPending(approval, folder),
  resolve: (id, answer) => records.decide(nowMs => resolve(id, answer, nowMs)),
})

/** A top-up's request is the amount and the payee; two with the same facts are one request. */
export const hashOfFacts = (facts: ApprovalFacts): string => createHash('sha256').update(write(facts)).digest('hex')

/** Runs inside a decision, so that a pending request is never duplicated. */
export function* ask(
  facts: ApprovalFacts,
  requestHash: string,
  nowMs: number,
  folder: string,
  call: DecidedCall,
): Work<PendingApproval> {
  const terms = termsOf(facts, requestHash)
  const same = yield* first(
    `SELECT * FROM approvals WHERE kind = ? AND request_hash = ? AND facts = ? AND expires_at_ms > ?
     AND state IN ('pending', 'denied') ORDER BY created_at_ms DESC LIMIT 1`,
    ...[facts.kind, requestHash, write(facts), nowMs],
  )
  if (same?.state === 'denied') throw wasDenied(read(same, nowMs), terms, nowMs, folder)
  if (same && covers(same, call.about)) return asPending(read(same, nowMs), folder)
  if (same) yield* pushOut(same, nowMs)
  yield* recordExpired(nowMs)
  checkText(facts, terms)
  const madeRoom = yield* makeRoom(facts, terms, call, nowMs)
  const id = newId('ask')
  const kept = call.about ? writeAbout(call.about) : null
  const expiresAtMs = nowMs + limits.requestLifeMs
  yield* change(
    `INSERT INTO approvals (id, kind, request_hash, facts, origin, operation, address, about, state, created_at_ms,
       expires_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
    ...[id, facts.kind, requestHash, write(facts), call.origin, call.operation, call.address, kept],
    ...[nowMs, expiresAtMs],
  )
  yield* forgetUnanswered()
  yield* change(
    'UPDATE approvals SET about = NULL WHERE about IS NOT NULL AND expires_at_ms < ?',
    nowMs - limits.aboutKeptMs,
  )
  return asPending({ id, facts, about: readAbout(kept), origin: call.origin, expiresAtMs }, folder, madeRoom)
}

/**
 * A service may stop asking for a consent that the user denied, so checking only when it asks would not stop the call.
 */
function* refuseDenied(requestHash: string, nowMs: number, folder: string): Work<void> {
  const denied = yield* first(
    `SELECT * FROM approvals AS refused WHERE kind IN ('spend', 'consent') AND request_hash = ? AND state = 'denied'
       AND expires_at_ms > ? AND NOT EXISTS (SELECT 1 FROM approvals AS agreed WHERE agreed.kind = refused.kind
         AND agreed.request_hash = refused.request_hash AND agreed.state = 'approved' AND agreed.decided_at_ms >= refused.decided_at_ms)
     ORDER BY decided_at_ms DESC LIMIT 1`,
    ...[requestHash, nowMs],
  )
  if (!denied) return
  const approval = read(denied, nowMs)
  throw wasDenied(approval, termsOf(approval.facts, requestHash), nowMs, folder)
}

const saidNo = 'The user has denied this.'

const wasDenied = ({ id, expiresAtMs }: Approval, terms: RefusedTerms, nowMs: number, folder: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'denied',
    sentence: saidNo,
    nextStep: `The denial applies until ${displayUntil(expiresAtMs, nowMs)}. Do not ask again; do something else, or talk to the user: only they can reverse it, with \`${approveCommand(id, folder)}\` in a terminal.`,
    terms,
  })

const termsOf = (facts: ApprovalFacts, requestHash: string): RefusedTerms => ({
  requestHash,
  ...(facts.kind === 'payee' && { network: facts.network, asset: facts.asset, payTo: facts.payTo }),
  ...(facts.kind !== 'consent' && facts.amountMicroUsd !== null && { amountMicroUsd: facts.amountMicroUsd }),
})

/** Returns the call of a request. What it was about is not part of a refusal's record. */
const callOf = ({ origin, operation, address }: Row): DecidedCall => ({
  origin: String(origin),
  operation: textOrNull(operation),
  address: textOrNull(address),
})

/**
 * Requests that expired undecided, and approvals that expired unused, count as refusals from the moment when they
 * ended.
 */
export function* recordExpired(nowMs: number): Work<void> {
  const rows = yield* all(
    `SELECT * FROM approvals WHERE noted = 0 AND expires_at_ms <= ? AND expires_at_ms > ? AND used_by IS NULL
       AND (state = 'pending' OR (state = 'approved' AND kind = 'spend')) ORDER BY expires_at_ms LIMIT ?`,
    ...[nowMs, nowMs - limits.refusalsKeptMs, limits.maxListed],
  )
  for (const row of rows) {
    yield* change('UPDATE approvals SET noted = 1 WHERE id = ?', String(row.id))
    const { facts, requestHash, expiresAtMs } = read(row, nowMs)
    const sentence = row.state === 'pending' ? unanswered : unused
    const terms = termsOf(facts, requestHash)
    yield* recordRefusal({ ...callOf(row), rule: 'expired', sentence, terms }, expiresAtMs)
  }
}

/** How they ended is in the record of refusals. The user's decisions are kept. */
function* forgetUnanswered(): Work<void> {
  yield* change(
    `DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE state = 'pending' AND noted = 1
       ORDER BY expires_at_ms DESC, rowid DESC LIMIT ? OFFSET ?)`,
    ...[limits.maxListed, limits.keptUnanswered],
  )
}

const pushedOut = 'The user was asked, but newer requests replaced this one before it was decided.'
const unanswered = 'The user was asked and did not answer in time.'
const unused = 'The user had approved, but the approval expired before it was used.'

/** Returns the newest, because the user is asked again only about a higher price. */
function* findUsable(facts: ApprovalFacts, requestHash: string, nowMs: number): Work<Row | null> {
  const row = yield* first(
    `SELECT * FROM approvals WHERE kind = ? AND request_hash = ? AND facts = ? AND state = 'approved'
     AND used_by IS NULL AND expires_at_ms > ? ORDER BY created_at_ms DESC, rowid DESC LIMIT 1`,
    ...[facts.kind, requestHash, write(facts), nowMs],
  )
  return row ?? null
}

/**
 * Whether the price in a request for consent is still right: the service may have raised it since. Requests for money
 * contain the amount.
 */
function covers({ kind, about: kept }: Row, about: AskedAbout | undefined): boolean {
  const shown = kind === 'consent' && about ? readAbout(kept) : null
  if (!about || shown === null || shown.mostMicroUsd === null) return true
  return about.mostMicroUsd !== null && about.mostMicroUsd <= shown.mostMicroUsd
}

export function* useApproval(facts: ApprovalFacts, requestHash: string, by: string, nowMs: number): Work<boolean> {
  const row = yield* findUsable(facts, requestHash, nowMs)
  if (row === null) return false
  return (yield* change('UPDATE approvals SET used_by = ? WHERE id = ? AND used_by IS NULL', by, String(row.id))) === 1
}

/** The payment planned with it was never signed, so the user's approval is still valid. */
export function* giveBackApproval(by: string): Work<void> {
  yield* change('UPDATE approvals SET used_by = NULL WHERE used_by = ?', by)
}

function* resolve(id: string, { isApproved, by, takesBack = false }: Answer, nowMs: number): Work<Approval> {
  const row = yield* first('SELECT * FROM approvals WHERE id = ?', id)
  if (!row)
    throw new WalletRefusal({
      rule: 'not-found',
      sentence: 'There is no such request.',
      nextStep: 'Run `farebox wallet status` to see what is pending.',
    })
  const approval = read(row, nowMs)
  const isTakenBack = takesBack && isApproved && approval.state === 'denied' && approval.expiresAtMs > nowMs
  if (approval.state !== 'pending' && !isTakenBack)
    throw new WalletRefusal({
      rule: 'not-found',
      sentence: `This request is already ${approval.state}.`,
      nextStep: 'Have the assistant ask again if it is still needed.',
    })
  yield* change(
    'UPDATE approvals SET state = ?, decided_at_ms = ?, decided_by = ?, expires_at_ms = ? WHERE id = ?',
    ...[isApproved ? 'approved' : 'denied', nowMs, by],
    ...[nowMs + (isApproved ? limits.approvalLifeMs : limits.denialLifeMs), id],
  )
  if (isApproved && approval.facts.kind === 'payee') yield* addPayee(approval.facts, by, nowMs)
  const terms = termsOf(approval.facts, approval.requestHash)
  if (!isApproved) yield* recordRefusal({ ...callOf(row), rule: 'denied', sentence: saidNo, terms }, nowMs)
  return (yield* find(id, nowMs)) ?? approval
}

function* find(id: string, nowMs: number): Work<Approval | null> {
  const row = yield* first('SELECT * FROM approvals WHERE id = ?', id)
  return row ? read(row, nowMs) : null
}

function* list(only: Approval['state'] | undefined, nowMs: number): Work<Approval[]> {
  // Pending requests are always included, however many have ended since.
  const [which, values] = only === 'pending' ? [`WHERE state = 'pending' AND expires_at_ms > ?`, [nowMs]] : ['', []]
  const newestFirst = `SELECT * FROM approvals ${which} ORDER BY created_at_ms DESC, rowid DESC LIMIT ?`
  const rows = yield* all(newestFirst, ...values, limits.maxListed)
  return rows.map(row => read(row, nowMs)).filter(approval => only === undefined || approval.state === only)
}

/** Stored as the one who ended a request that was never decided. */
const newerRequest = 'a newer request'

/** Returns a note for the caller, or null; refuses if no request of this service can make room. */
function* makeRoom(
  { kind }: ApprovalFacts,
  terms: RefusedTerms,
  { origin, operation }: DecidedCall,
  nowMs: number,
): Work<string | null> {
  const group = { kind, requestHash: terms.requestHash ?? '', origin, operation: operation ?? '' }
  const { rows, sentence, isFull } = yield* inTheWay(group, nowMs)
  if (isFull)
    throw new WalletRefusal({
      rule: 'too-many-questions',
      sentence: `${limits.maxPendingApprovals} requests are already pending.`,
      nextStep: 'Ask the user to decide some of them with `farebox wallet approve`.',
      terms,
    })
  for (const row of rows) yield* pushOut(row, nowMs)
  return sentence
}

/** Ends a pending request for a new one. */
function* pushOut(row: Row, nowMs: number): Work<void> {
  yield* change(
    'UPDATE approvals SET expires_at_ms = ?, decided_by = ?, noted = 1 WHERE id = ?',
    ...[nowMs, newerRequest, String(row.id)],
  )
  const { facts, requestHash } = read(row, nowMs)
  const terms = termsOf(facts, requestHash)
  yield* recordRefusal({ ...callOf(row), rule: 'expired', sentence: pushedOut, terms }, nowMs)
}

function checkText(facts: ApprovalFacts, terms: RefusedTerms): void {
  if (facts.kind !== 'consent' || facts.policyText.length <= limits.maxPolicyTextLength) return
  throw new WalletRefusal({
    rule: 'order',
    sentence: 'The policy text is too long to show in full, so you cannot agree to it here.',
    nextStep: "Agree to it on the service's own site, or use another model.",
    terms,
  })
}

function asPending(
  { id, facts, about, origin, expiresAtMs }: Pick<Approval, 'id' | 'facts' | 'about' | 'origin' | 'expiresAtMs'>,
  folder: string,
  madeRoom: string | null = null,
): PendingApproval {
  const command = approveCommand(id, folder)
  const howToApprove = `Run \`${command}\` in a terminal.${madeRoom === null ? '' : ` ${madeRoom}`}`
  return { approvalId: id, facts, ...requestWords(facts, { about, origin, command }), howToApprove, expiresAtMs }
}

/** Names the folder unless it is the default, because users copy the command as it is. */
export const approveCommand = (id: string, folder: string): string =>
  `farebox wallet approve ${id}${folder === homeDataFolder() ? '' : ` --data '${folder}'`}`

/** Members in a fixed order, so that equal facts give equal texts. */
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

function read(row: Row, nowMs: number): Approval {
  const expiresAtMs = Number(row.expires_at_ms)
  const isOver = expiresAtMs <= nowMs && row.state !== 'denied' && row.used_by === null
  return {
    id: String(row.id),
    facts: readFacts(String(row.facts)),
    about: readAbout(row.about),
    origin: String(row.origin),
    requestHash: String(row.request_hash),
    state: isOver ? 'expired' : (row.state as Approval['state']),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs,
    decidedAtMs: row.decided_at_ms === null ? null : Number(row.decided_at_ms),
    decidedBy: row.decided_by === null ? null : String(row.decided_by),
    usedBy: row.used_by === null ? null : String(row.used_by),
  }
}
