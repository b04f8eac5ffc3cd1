import type { ClientAnswer } from '#client/client.ts'
import type { AnswerHeaders } from '#client/wire/read-answer.ts'
import { addUsd, fromUsdNumber, type MicroUsd } from '#contract/money.ts'
import { ChatCompletion } from '#contract/operations/chat.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { getReceiptKeys, listReceipts } from '#contract/operations/receipts.ts'
import { newId } from '#wallet/ids.ts'
import { isSignedBy, type ReadReceipt, readReceipt, receiptProblem } from '#wallet/receipts.ts'
import { receiptAskMs, receiptPageRows, receiptPages, recheckedReceipts } from '../bounds.ts'
import type { AgentContext } from '../context.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import { kindOf, type ReceiptRow, ReceiptRows } from './receipt-rows.ts'

type Verdict = Pick<ReceiptRow, 'state' | 'problem' | 'receipt'>

/**
 * Stores the charges that a service reports, and compares them with its answer and with the approved amount. A
 * difference is stored and reported, but never withholds an answer.
 */
export class Receipts {
  readonly #agent: AgentContext
  readonly #rows: ReceiptRows
  #keys: Promise<ReadonlyMap<string, string> | null> | null = null

  constructor(agent: AgentContext) {
    this.#agent = agent
    this.#rows = new ReceiptRows(agent.state)
  }

  /**
   * Records a paid call with its receipt; `comesLater` if none could come with the answer, as for a stream. A failure
   * to record never withholds the answer.
   */
  keep(
    call: string,
    operation: Operation,
    answer: ClientAnswer<Operation>,
    price: PricedCall,
    { comesLater = false, tool = null }: { comesLater?: boolean; tool?: string | null } = {},
  ): void {
    try {
      const { receipt, model } = answer.headers
      const request = this.#chargedRequest(answer.headers)
      const row: ReceiptRow = {
        ...{ service: this.#service, id: request === null ? newId('charge') : `charge:${request}`, call },
        ...{ state: receipt === null ? 'unsigned' : 'unchecked', problem: null, receipt },
        ...{ what: price.what, request, operation: operation.id, model, tool, atMs: this.#agent.clock.now() },
        saidMicroUsd: operation.charge === 'quote' ? price.amountMicroUsd : saidCost(answer.answer),
        mostMicroUsd: price.amountMicroUsd,
      }
      this.#rows.add(row, comesLater)
    } catch {
      // The service has it, and `list` fetches what is missing.
    }
  }

  /** Returns what is wrong with a call's stored receipt; null if no problem is known. Waits briefly for keys, once. */
  async problemOf(call: string): Promise<string | null> {
    const row = this.#rows.ofCall(call)
    return row && (await this.#checked(row)).problem
  }

  /**
   * Work with a key may have been started by an earlier request, which is then the one that is charged. But a receipt
   * that is already stored belongs to another call.
   */
  #chargedRequest({ requestId, receipt, isReplayed }: AnswerHeaders): string | null {
    const named = (receipt && readReceipt(receipt)?.claims.request) ?? null
    if (isReplayed) return named
    return named !== null && this.#rows.find(this.#service, `charge:${named}`) === null ? named : requestId
  }

  /** Newest first. Verifies those that could not be verified before, and fetches those that the wallet has not seen. */
  async list(limit: number, { isOfAllServices = true } = {}): Promise<ReceiptRow[]> {
    if (this.#agent.pays !== 'nothing' && this.#mayHaveReceipts()) await this.#fetchMissing().catch(() => undefined)
    for (const row of this.#rows.unchecked(this.#service, recheckedReceipts)) await this.#checked(row)
    return this.#rows.list(limit, isOfAllServices ? null : this.#service)
  }

  get #service(): string {
    return this.#agent.client.address.baseUrl
  }

  /** A service that omitted a requested receipt and has no keys is another implementation of the contract. */
  #mayHaveReceipts(): boolean {
    const isKnown = this.#rows.keysOf(this.#service).size > 0
    return isKnown || !this.#rows.hasRefused(this.#service)
  }

  async #checked(row: ReceiptRow): Promise<ReceiptRow> {
    if (row.state !== 'unchecked' || row.receipt === null) return row
    const verdict = await this.#verdict(row, row.receipt)
    if (verdict.state !== 'unchecked') this.#rows.judge(row, verdict)
    return { ...row, ...verdict }
  }

  async #verdict(row: ReceiptRow, receipt: string): Promise<Verdict> {
    const read = readReceipt(receipt)
    if (!read) return { state: 'unverified', problem: 'The receipt cannot be read.', receipt }
    const problem = await this.#signatureProblem(receipt, read)
    if (problem === 'no keys') return { state: 'unchecked', problem: null, receipt }
    if (problem !== null) return { state: 'unverified', problem, receipt }
    const known = { ...row, kind: kindOf(row) }
    const differs = receiptProblem(read.claims, known, this.#agent.wallet?.addresses ?? null)
    return { state: differs === null ? 'verified' : 'differs', problem: differs, receipt }
  }

  async #signatureProblem(receipt: string, { keyId }: ReadReceipt): Promise<string | null> {
    const key = this.#rows.keysOf(this.#service).get(keyId) ?? (await this.#newKeys(keyId))
    if (key === null) return 'no keys'
    if (key === undefined) return 'The receipt is signed with an unknown key.'
    return isSignedBy(receipt, key) ? null : 'The signature of the receipt is invalid.'
  }

  /** Undefined if the service has no such key, null if it cannot be reached. */
  async #newKeys(keyId: string): Promise<string | null | undefined> {
    this.#keys ??= this.#fetchKeys().finally(() => {
      this.#keys = null
    })
    const keys = await this.#keys
    return keys === null ? null : keys.get(keyId)
  }

  /**
   * Pins the service's keys. A list without the keys that are already pinned is not trusted, because a service keeps
   * its own keys published.
   */
  async #fetchKeys(): Promise<ReadonlyMap<string, string> | null> {
    const pinned = this.#rows.keysOf(this.#service)
    try {
      const { answer } = await this.#agent.client.call(getReceiptKeys, noCall, asked())
      const found = new Map(answer.keys.map(({ kid, x }) => [kid, x]))
      if ([...pinned].some(([id, publicKey]) => found.get(id) !== publicKey)) return pinned
      this.#rows.pinKeys(this.#service, answer.keys, this.#agent.clock.now())
      return found
    } catch {
      return null
    }
  }

  /** Receipts of streams, of calls whose answer was lost, and of refunds come later. */
  async #fetchMissing(): Promise<void> {
    let before: string | undefined
    for (let page = 0; page < receiptPages; page++) {
      const query = { limit: receiptPageRows, ...(before === undefined ? {} : { before }) }
      const { answer } = await this.#agent.client.call(listReceipts, { ...noCall, query }, asked())
      const isNew = answer.data.map(({ kind, request, receipt }) => this.#keepFetched(`${kind}:${request}`, receipt))
      if (answer.next === null || !isNew.every(Boolean)) return
      before = answer.next
    }
  }

  /** Returns false if it was stored before. */
  #keepFetched(id: string, receipt: string): boolean {
    const known = this.#rows.find(this.#service, id)
    if (known) {
      if (known.state === 'unsigned') this.#rows.judge(known, { state: 'unchecked', problem: null, receipt })
      return known.state === 'unsigned'
    }
    const claims = readReceipt(receipt)?.claims
    const nowMs = this.#agent.clock.now()
    this.#rows.add({
      ...{ service: this.#service, id, state: 'unchecked', problem: null, receipt, what: null, call: null, tool: null },
      ...{
        request: id.slice(id.indexOf(':') + 1),
        operation: null,
        model: null,
        saidMicroUsd: null,
        mostMicroUsd: null,
      },
      // It is not verified yet, and a time in the future would keep it at the top.
      atMs: claims ? Math.min(nowMs, claims.iat * 1000) : nowMs,
    })
    return true
  }
}

const noCall = { params: undefined, query: undefined, body: undefined }

const asked = () => ({ attempts: 1, signal: AbortSignal.timeout(receiptAskMs) })

/** The sum over all balances, if the answer gives it. */
function saidCost(answer: unknown): MicroUsd | null {
  const cost = ChatCompletion.safeParse(answer).data?.cost
  const [usd, diem] = cost ? [fromUsdNumber(cost.usd), fromUsdNumber(cost.diem)] : [null, null]
  return usd === null || diem === null ? null : addUsd(usd, diem)
}
