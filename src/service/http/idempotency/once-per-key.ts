import type { UnreadCalls } from '#access/limits/concurrency.ts'
import { answerNotKept } from '#contract/errors/errors.ts'
import { isIdempotent, type Operation } from '#contract/operations/operation.ts'
import { balanceRemaining, contentType, idempotentReplayed } from '#contract/wire/headers.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { openWalletAccount, type Principal } from '#ledger/accounts/principal.ts'
import { send, sendText } from '../body/send.ts'
import type { Reply, Work } from '../call.ts'
import { tellLimits } from '../call-limits.ts'
import type { Exchange } from '../exchange.ts'
import { answerWithReceipt } from '../sell.ts'
import { workAfterLeavingMs } from './bounds.ts'
import type { ClaimOrder, Taken } from './claims.ts'
import type { KeptAnswer } from './kept-answer.ts'
import { claimId, fingerprintOf, type KeyedRequest, readKey, reusedKey } from './keyed-request.ts'
import { KeyedWork } from './keyed-work.ts'

/** Whether a request with the key of this one came before: its answer may be there already. Throws what `readKey` throws. */
export async function isKnownKey(
  operation: Operation,
  exchange: Exchange,
  { claims }: KeyedRequest['service'],
): Promise<boolean> {
  const key = keyOf(operation, exchange)
  const { principal } = exchange
  return key !== null && principal !== null && !!(await claims.find(claimId(principal.account, operation, key)))
}

const keyOf = (operation: Operation, exchange: Exchange): string | null =>
  isIdempotent(operation) && exchange.principal ? readKey(name => exchange.header(name)) : null

/**
 * Runs the work of a request, under an `Idempotency-Key` once: a repeat is given the first answer byte for byte, before
 * anything is counted, held or asked. Throws `keyInUse`, `reusedKey`, `answerNotKept`, and what `run` throws.
 */
export async function oncePerKey(keyed: KeyedRequest, run: (work: Work) => Promise<Reply>): Promise<Response> {
  const { operation, exchange, service } = keyed
  const { principal } = exchange
  const key = keyOf(operation, exchange)
  if (key === null || !principal) {
    keyed.requireNewWork()
    return answerUnkeyed(keyed, run)
  }
  const claim = claimId(principal.account, operation, key)
  const fingerprint = await fingerprintOf(keyed.request)
  const order = { claim, account: principal.account, request: exchange.requestId, fingerprint }
  const taken = await takeKey(order, principal, keyed)
  if (taken.state !== 'ours') return answerTaken(taken, keyed)
  const result = await new KeyedWork(taken.claim, keyed).answer(async work => {
    keyed.requireNewWork()
    return run(work)
  })
  return result === 'lost' ? answerTaken(await service.claims.ended(order), keyed) : result
}

/** A wallet that has credit and no account yet, because its stake is all that it has, gets one with its first key. */
async function takeKey(order: ClaimOrder, principal: Principal, { requireNewWork, service }: KeyedRequest) {
  const taken = await service.claims.take(order)
  if (taken.state !== 'no-account') return taken
  requireNewWork()
  const opening = principal.kind === 'wallet' ? openWalletAccount(principal.wallet, service.clock.now()) : []
  const again = await service.claims.take({ ...order, opening })
  if (again.state === 'no-account') throw new Error(`The account of request ${order.request} cannot be opened.`)
  return again
}

async function answerUnkeyed({ exchange, service }: KeyedRequest, run: (work: Work) => Promise<Reply>) {
  const work = new UnkeyedWork(exchange, service.unread)
  try {
    const reply = await run(work)
    // A stream that costs something says itself when its work has ended.
    if (reply.kind !== 'events' && reply.kind !== 'pieces') work.over()
    return send(exchange, reply, service.settings.vendor)
  } catch (error) {
    work.over()
    throw error
  }
}

function answerTaken(taken: Exclude<Taken, { state: 'ours' | 'no-account' }>, keyed: KeyedRequest): Promise<Response> {
  if (taken.state === 'other-request') throw reusedKey(keyed.operation)
  if (taken.answer) return giveAgain(taken.answer, taken.request, keyed)
  throw answerNotKept({
    error:
      'The work under this key is done, and its answer was too large to be kept, or one of too many; send a new key for new work.',
    code: 'IDEMPOTENCY_ANSWER_NOT_KEPT',
  })
}

/** The stored bytes; what is said of the moment (request id, time, balance) is of now. */
async function giveAgain({ status, headers: kept, body }: KeptAnswer, request: string, keyed: KeyedRequest) {
  const { exchange, service } = keyed
  const headers = exchange.answerHeaders
  for (const [name, value] of kept) if (!headers.has(name)) headers.set(name, value)
  exchange.set(idempotentReplayed, true)
  await answerWithReceipt(keyed, request)
  const { principal } = exchange
  if (principal?.kind === 'wallet') {
    exchange.set(balanceRemaining, (await balanceOf(service.store, principal.account)).availableMicroUsd)
  }
  await tellLimits(exchange, service)
  if (status >= 400) service.guards.failed(exchange)
  exchange.ended()
  const type = headers.get(contentType.name) ?? ''
  if (type === 'application/json') return sendText(exchange, body.toString('utf8'), type, status)
  return exchange.response(new Uint8Array(body), status)
}

/** One piece of work without a key. Once it costs something it ends as if its caller were there, and is charged. */
class UnkeyedWork implements Work {
  readonly requestId: string
  readonly holdId: string
  readonly signal: AbortSignal
  readonly hasKey = false
  readonly #exchange: Exchange
  readonly #unread: UnreadCalls
  readonly #stop = new AbortController()
  readonly #callerLeft = () => this.#left()
  #goesOn = false
  #timer: NodeJS.Timeout | null = null
  #leaveUnread: (() => void) | null = null

  constructor(exchange: Exchange, unread: UnreadCalls) {
    this.#exchange = exchange
    this.#unread = unread
    this.requestId = exchange.requestId
    this.holdId = exchange.requestId
    this.signal = this.#stop.signal
    const { signal: caller } = exchange
    if (caller.aborted) this.#left()
    else caller.addEventListener('abort', this.#callerLeft, { once: true })
  }

  goOn(): void {
    this.signal.throwIfAborted()
    this.#goesOn = true
    this.#exchange.outlivesCaller = true
  }

  stay(): () => void {
    this.#exchange.outlivesCaller = true
    if (this.signal.aborted) this.#count()
    return () => this.#end()
  }

  hasLeft(): boolean {
    return this.#exchange.signal.aborted
  }

  unread(): void {
    this.#exchange.outlivesAnswer = true
    this.#count()
  }

  keep = async () => []

  keepStream = async () => []

  /** The work has ended, unless it goes on unread; a caller who leaves from now on leaves an answer that is on its way. */
  over(): void {
    if (!this.#exchange.outlivesAnswer) this.#end()
  }

  #end(): void {
    const { signal: caller, outlivesAnswer } = this.#exchange
    caller.removeEventListener('abort', this.#callerLeft)
    if (this.#timer) clearTimeout(this.#timer)
    this.#leaveUnread?.()
    this.#exchange.outlivesCaller = false
    this.#exchange.outlivesAnswer = false
    if (caller.aborted || outlivesAnswer) this.#exchange.ended()
  }

  #left(): void {
    if (this.#exchange.outlivesCaller) this.#count()
    if (this.#goesOn) this.#timer = setTimeout(() => this.#stop.abort(), workAfterLeavingMs).unref()
    else this.#stop.abort(this.#exchange.signal.reason)
  }

  #count(): void {
    this.#leaveUnread ??= this.#unread.enter(this.#exchange.principal?.account ?? '')
  }
}
