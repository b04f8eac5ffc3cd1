import { readFile } from 'node:fs/promises'
import { answerNotKept } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { isIdempotent, type Operation } from '#contract/operations/operation.ts'
import { balanceRemaining, contentType, idempotentReplayed } from '#contract/wire/headers.ts'
import { toVendor } from '#contract/wire/vendor.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import { openWalletAccount } from '#ledger/accounts/wallet-accounts.ts'
import { AlsoCommitRefused } from '#ledger/charges/charge.ts'
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
} from './kept-answer.ts'
import { KeyedStream, StreamTooLarge } from './keyed-stream.ts'

/** The claim that a request's `Idempotency-Key` names, and its caller. */
interface RequestKey {
  claim: string
  principal: Principal
}

/** Null without a key, and for operations that take none. Throws what `readKey` throws. */
export function keyOf(operation: Operation, exchange: Exchange): RequestKey | null {
  const { principal } = exchange
  const key = isIdempotent(operation) && principal ? readKey(name => exchange.header(name)) : null
  return key === null || !principal ? null : { claim: claimId(principal.account, operation, key), principal }
}

/**
 * Runs the work of a request once per `Idempotency-Key`: a repeat is given the first answer byte for byte, before
 * anything is counted, held or asked. Throws `keyInUse`, `reusedKey`, `answerNotKept`, and what `run` throws.
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

function answerTaken(taken: Exclude<Taken, { state: 'ours' | 'no-account' }>, keyed: KeyedRequest): Promise<Response> {
  if (taken.state === 'other-request') throw reusedKey(keyed.operation)
  if (taken.answer) return giveAgain(taken.answer, taken.request, keyed)
  throw answerNotKept({
    error:
      'The request with this key was completed and charged, but its answer was not kept, because it or the day’s answers were too large; use a new key for a new request.',
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

const jsonType = 'application/json'

/** One piece of work under a key. It goes on when its caller leaves, and its answer is stored before it is sent. */
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

  /** The answer to send, or that the claim is another's by now: then nothing was charged here. Throws what `run` throws. */
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

  /** It went on from the beginning. */
  goOn(): void {
    this.signal.throwIfAborted()
  }

  stay = () => () => undefined

  hasLeft(): boolean {
    return this.#keyed.exchange.signal.aborted
  }

  /** Its caller waits for the end of it, which is kept. */
  unread = () => undefined

  async keep(reply: () => WholeReply): Promise<readonly Op[]> {
    this.#answer = this.#wholeAnswer(reply())
    return [await this.#claim.keep(this.#textToKeep(this.#answer))]
  }

  async keepStream(lastEvents: () => readonly unknown[]): Promise<readonly Op[]> {
    return [await this.#claim.keep(this.#streamAnswer(lastEvents()))]
  }

  /** A caller who leaves a whole answer waits for it no longer than one who leaves a stream. */
  #callerLeft(): void {
    if (this.#isOver || this.#timer || this.#stop.signal.aborted) return
    this.#timer = setTimeout(() => this.#stop.abort(), workAfterLeavingMs).unref()
    const { exchange, service } = this.#keyed
    this.#leaveUnread = service.unread.enter(exchange.principal?.account ?? '')
    this.#stream?.goOn()
  }

  /** Whole, or as an answer that is not kept where those of its account take too much already. */
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
    return sendText(exchange, body.toString('utf8'), jsonType, status)
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
    return this.#textToKeep({ status: 200, headers: lasting, body: await readFile(reply.path) })
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

  /** Before the end of the stream is sent: who has seen it can have the answer again. */
  async #streamEnded(): Promise<void> {
    if (!this.#claim.kept) await this.#endUnkept()
    this.#over()
    this.#keyed.exchange.ended()
  }

  /** A stream whose route kept nothing: where it charged nothing either, it was a refusal. */
  async #endUnkept(): Promise<void> {
    this.signal.throwIfAborted()
    if (!(await this.#hasCharged())) return this.#free()
    if (!(await this.#claim.finish(this.#streamAnswer([])))) throw new AlsoCommitRefused('claim_moved')
  }

  /** A reader is told by events, unless nobody reads any more, or another process has the whole answer by now. */
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
   * There is no whole answer. Where this attempt charged something, what there is becomes the answer. Where nothing
   * happened the key is free again. In between it stays with its request, which is charged once at most.
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

  /** After a refusal. Work that was begun before keeps its request: what came of it may still be charged. */
  #free(): Promise<void> {
    return this.#claim.takenOver ? this.#claim.leave() : this.#claim.giveUp()
  }

  /** Asks the ledger, because only it knows what a commit with an unknown outcome did. */
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

/** Thrown where it is certain that nothing was done. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError || error instanceof InsufficientCredit || error instanceof OverBudget
