import { answerNotKept } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { isIdempotent, type Operation } from '#contract/operations/operation.ts'
import { balanceRemaining, contentType, idempotentReplayed } from '#contract/wire/headers.ts'
import { toVendor } from '#contract/wire/vendor.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { openWalletAccount } from '#ledger/accounts/customers.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { AlsoCommitRefused } from '#ledger/charges/charge-order.ts'
import { InsufficientCredit, OverBudget } from '#ledger/charges/funding.ts'
import { entryRefs, type Op } from '#ledger/store/units.ts'
import { eventBytes, lastEventBytes, send, sendBytes, sendText, setEventHeaders } from '../body/send.ts'
import { tellLimits } from '../call-limits.ts'
import type { Exchange } from '../exchange.ts'
import {
  type EventsReply,
  type FileReply,
  json,
  type Reply,
  type WholeReply,
  type Work,
  workAfterLeavingMs,
} from '../route.ts'
import { answerWithReceipt } from '../sell.ts'
import type { ClaimOrder, RunningClaim, Taken } from './claims.ts'
import { KeyedStream, StreamTooLarge } from './keyed-stream.ts'
import {
  claimId,
  fingerprintOf,
  type KeptAnswer,
  type KeyedRequest,
  keptAnswerBytes,
  lastingHeaders,
  notKept,
  readKey,
  reusedKey,
  writeAnswer,
} from './replayed-answer.ts'

/** The claim that a request's `Idempotency-Key` refers to, and its caller. */
interface RequestKey {
  claim: string
  principal: Principal
}

/** Returns null without a key, and for operations that take none. Throws like `readKey`. */
export function keyOf(operation: Operation, exchange: Exchange): RequestKey | null {
  const { principal } = exchange
  const key = isIdempotent(operation) && principal ? readKey(name => exchange.header(name)) : null
  return key === null || !principal ? null : { claim: claimId(principal.account, operation, key), principal }
}

/**
 * Runs the work of a request once per `Idempotency-Key`: a repeat gets the first answer byte for byte, before anything
 * is counted, held or called. Throws `keyInUse`, `reusedKey`, `answerNotKept`, and what `run` throws.
 */
export async function oncePerKey(
  { claim, principal }: RequestKey,
  keyed: KeyedRequest,
  run: (work: Work) => Promise<Reply>,
): Promise<Response> {
  const { exchange, service } = keyed
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

/** A wallet that has only staking credit, and so no account yet, gets one with its first key. */
async function takeKey(order: ClaimOrder, principal: Principal, { requireNewWork, service }: KeyedRequest) {
  const taken = await service.claims.take(order)
  if (taken.state !== 'no-account') return taken
  requireNewWork()
  const opening = principal.kind === 'wallet' ? openWalletAccount(principal.wallet, service.clock.now()) : []
  const again = await service.claims.take({ ...order, opening })
  if (again.state === 'no-account') throw new Error(`The account of request ${order.request} cannot be opened.`)
  return again
}

function answerTaken(taken: Exclude<Taken, { state: 'ours' | 'no-account' }>, keyed: KeyedRequest): Promise<Response> {
  if (taken.state === 'other-request') throw reusedKey(keyed.operation)
  if (taken.answer) return giveAgain(taken.answer, taken.request, keyed)
  throw answerNotKept({
    error:
      'The request with this key was completed and charged, but its answer was not kept: it was too large, or the account had stored too many answers that day. Use a new key for a new request.',
    code: 'IDEMPOTENCY_ANSWER_NOT_KEPT',
  })
}

/** Returns the stored bytes; headers about the moment (request id, time, balance) are current. */
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

const jsonType = 'application/json'

/** One piece of work with a key. It continues when its caller leaves, and its answer is stored before it is sent. */
class KeyedWork implements Work {
  readonly requestId: string
  readonly holdId: string
  readonly signal: AbortSignal
  readonly hasKey = true
  readonly #claim: RunningClaim
  readonly #keyed: KeyedRequest
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | null = null
  #leaveUnread: () => void = () => undefined
  #answer: KeptAnswer | null = null
  #stream: KeyedStream | null = null
  #brokenOff: EventsReply['brokenOff'] = () => []
  #isOver = false

  constructor(claim: RunningClaim, keyed: KeyedRequest) {
    this.#claim = claim
    this.#keyed = keyed
    this.requestId = claim.request
    this.holdId = keyed.exchange.requestId
    this.signal = this.#stop.signal
    keyed.exchange.outlivesCaller = true
    const caller = keyed.exchange.signal
    if (caller.aborted) this.#callerLeft()
    else caller.addEventListener('abort', () => this.#callerLeft(), { once: true })
  }

  /**
   * Returns the answer to send, or that the claim now belongs to another process, in which case nothing was charged
   * here. Throws what `run` throws.
   */
  async answer(run: (work: Work) => Promise<Reply>): Promise<Response | 'lost'> {
    try {
      const reply = await run(this)
      if (reply.kind === 'pieces') throw new Error('An answer in pieces cannot be kept for a key.')
      return reply.kind === 'events' ? this.#sendEvents(reply) : await this.#sendWhole(reply)
    } catch (error) {
      await this.#endWithout(error)
      if (error instanceof AlsoCommitRefused) return 'lost'
      throw error
    }
  }

  /** Work with a key continues from the start, so this only checks for an abort. */
  goOn(): void {
    this.signal.throwIfAborted()
  }

  stay = () => () => undefined

  hasLeft(): boolean {
    return this.#keyed.exchange.signal.aborted
  }

  /** The caller waits for its end, which is kept. */
  unread = () => undefined

  async keep(reply: () => WholeReply): Promise<readonly Op[]> {
    this.#answer = this.#wholeAnswer(reply())
    return [await this.#claim.keep(this.#textToKeep(this.#answer))]
  }

  async keepStream(lastEvents: () => readonly unknown[]): Promise<readonly Op[]> {
    return [await this.#claim.keep(this.#streamAnswer(lastEvents()))]
  }

  /** If the caller leaves, a whole answer runs for no longer than a stream would. */
  #callerLeft(): void {
    if (this.#isOver || this.#timer || this.#stop.signal.aborted) return
    this.#timer = setTimeout(() => this.#stop.abort(), workAfterLeavingMs).unref()
    const { exchange, service } = this.#keyed
    this.#leaveUnread = service.unread.enter(exchange.principal?.account ?? '')
    this.#stream?.goOn()
  }

  /** Returns the whole answer, or a marker that it was not kept if its account's answers take too much space. */
  #textToKeep(answer: KeptAnswer): string {
    const { exchange, service } = this.#keyed
    const text = writeAnswer(answer)
    const account = exchange.principal?.account ?? ''
    return service.claims.space.take(account, Buffer.byteLength(text)) ? text : notKept
  }

  #wholeAnswer(reply: WholeReply): KeptAnswer {
    const { exchange, service } = this.#keyed
    const { vendor } = service.settings
    const isJson = reply.kind === 'json'
    const headers = new Map(exchange.answerHeaders)
    headers.set('content-type', isJson ? jsonType : reply.mimeType)
    return {
      status: isJson ? reply.status : 200,
      headers: lastingHeaders(headers, vendor),
      body: isJson ? Buffer.from(JSON.stringify(toVendor(reply.body, vendor)), 'utf8') : reply.bytes,
    }
  }

  async #sendWhole(reply: WholeReply | FileReply): Promise<Response | 'lost'> {
    const { exchange, service } = this.#keyed
    if (!this.#claim.kept && !(await this.#claim.finish(await this.#written(reply)))) {
      this.#over()
      return 'lost'
    }
    this.#over()
    if (reply.kind === 'file') return send(exchange, reply, service.settings.vendor)
    exchange.ended()
    const { status, body } = this.#answer ?? this.#wholeAnswer(reply)
    if (reply.kind === 'bytes') return sendBytes(exchange, body, reply.mimeType)
    return sendText(exchange, body, jsonType, status)
  }

  async #written(reply: WholeReply | FileReply): Promise<string> {
    if (reply.kind !== 'file') {
      this.#answer = this.#wholeAnswer(reply)
      return this.#textToKeep(this.#answer)
    }
    if (reply.bytes > keptAnswerBytes) return notKept
    const headers = new Map(this.#keyed.exchange.answerHeaders)
    headers.set('content-type', reply.mimeType)
    headers.set('content-disposition', `attachment; filename="${reply.filename}"`)
    const lasting = lastingHeaders(headers, this.#keyed.service.settings.vendor)
    return this.#textToKeep({ status: 200, headers: lasting, body: await bytesOf(reply) })
  }

  #sendEvents(reply: EventsReply): Response {
    const { exchange, service } = this.#keyed
    setEventHeaders(exchange.answerHeaders)
    const stream = new KeyedStream(reply, {
      vendor: service.settings.vendor,
      claims: service.claims,
      ended: () => this.#streamEnded(),
      broken: error => this.#streamBroken(error),
      left: () => this.#callerLeft(),
      cut: () => exchange.cut(),
    })
    this.#stream = stream
    this.#brokenOff = () => reply.brokenOff()
    if (exchange.signal.aborted) stream.goOn()
    return exchange.streamed(stream.body)
  }

  #streamAnswer(lastEvents: readonly unknown[]): string {
    const { exchange, service } = this.#keyed
    const headers = new Map(exchange.answerHeaders)
    setEventHeaders(headers)
    const { vendor } = service.settings
    const recorded = this.#stream ? this.#stream.recorded : []
    if (!recorded) return notKept
    const body = Buffer.concat([...recorded, ...lastEvents.map(event => eventBytes(event, vendor)), lastEventBytes])
    return this.#textToKeep({ status: 200, headers: lastingHeaders(headers, vendor), body })
  }

  /** Runs before the end of the stream is sent, so that a reader who has seen it can get the answer again. */
  async #streamEnded(): Promise<void> {
    if (!this.#claim.kept) await this.#endUnkept()
    this.#over()
    this.#keyed.exchange.ended()
  }

  /** Ends a stream whose route kept nothing: if it also charged nothing, it was a refusal. */
  async #endUnkept(): Promise<void> {
    this.signal.throwIfAborted()
    if (!(await this.#hasCharged())) return this.#free()
    if (!(await this.#claim.finish(this.#streamAnswer([])))) throw new AlsoCommitRefused('claim_moved')
  }

  /** Events tell a reader, unless there is no reader or another process has the whole answer by now. */
  async #streamBroken(error: unknown): Promise<readonly unknown[] | null> {
    await this.#endWithout(error)
    const { exchange, service } = this.#keyed
    exchange.ended()
    if (this.signal.aborted || error instanceof AlsoCommitRefused) return null
    if (!(error instanceof StreamTooLarge))
      service.log.error({ requestId: this.requestId, err: error }, 'A stream could not be ended properly.')
    return this.#brokenOff()
  }

  /**
   * There is no whole answer. If this attempt charged something, its partial output becomes the answer. If nothing
   * happened, the key is free again. Otherwise it keeps its request, which is charged at most once.
   */
  async #endWithout(error: unknown): Promise<void> {
    try {
      if (this.#claim.kept || error instanceof AlsoCommitRefused) return
      const charged = await this.#hasCharged()
      if (charged && this.#stream) await this.#claim.finish(this.#streamAnswer(this.#brokenOff()))
      else if (charged && error instanceof ServiceError)
        await this.#claim.finish(this.#textToKeep(this.#wholeAnswer(json(error.body, error.status))))
      else if (charged || !isRefusal(error)) await this.#claim.leave()
      else await this.#free()
    } catch (another) {
      this.#keyed.service.log.warn(
        { requestId: this.requestId, err: another },
        'A key stays in use until its lease ends.',
      )
    } finally {
      this.#over()
    }
  }

  /** After a refusal. Work that had begun before keeps its request, because its result may still be charged. */
  #free(): Promise<void> {
    return this.#claim.takenOver ? this.#claim.leave() : this.#claim.giveUp()
  }

  /** Asks the ledger, because only it knows the result of a commit with unknown outcome. */
  async #hasCharged(): Promise<boolean> {
    const entry = await this.#keyed.service.store.read
      .selectFrom('entry')
      .select('id')
      .where('ref', '=', entryRefs.charge(this.requestId))
      .where('id', 'like', `${this.holdId}/%`)
      .executeTakeFirst()
    return entry !== undefined
  }

  #over(): void {
    this.#isOver = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#leaveUnread()
    this.#stream?.forget()
    this.#claim.over()
  }
}

/** Whether the error proves that nothing was done. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError || error instanceof InsufficientCredit || error instanceof OverBudget

/** For a file that is small enough to be kept. */
async function bytesOf({ read }: FileReply): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of read()) pieces.push(piece)
  return Buffer.concat(pieces)
}
