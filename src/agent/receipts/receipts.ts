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
 * Keeps what a service says that it charged, and holds it against what its answer said and what was allowed. What does not
 * hold is kept and told; nothing here keeps anyone from an answer.
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
   * Writes down a paid call with the receipt that came with it; `comesLater` where none could, as with a stream. What
   * cannot be written costs nobody the answer.
   */
  keep(
    call: string,
    operation: Operation,
    answer: ClientAnswer<Operation>,
    price: PricedCall,
    { comesLater = false }: { comesLater?: boolean } = {},
  ): void {
    try {
      const { receipt, model } = answer.headers
      const request = this.#chargedRequest(answer.headers)
      const row: ReceiptRow = {
        ...{ service: this.#service, id: request === null ? newId('charge') : `charge:${request}`, call },
        ...{ state: receipt === null ? 'unsigned' : 'unchecked', problem: null, receipt },
        ...{ what: price.what, request, operation: operation.id, model, atMs: this.#agent.clock.now() },
        saidMicroUsd: operation.charge === 'quote' ? price.amountMicroUsd : saidCost(answer.answer),
        mostMicroUsd: price.amountMicroUsd,
      }
      this.#rows.add(row, comesLater)
    } catch {
      // The service has it, and `list` fetches what is missing.
    }
  }

  /** What is wrong with the receipt that was kept of a call, null where nothing is known to be. Waits for keys a moment, once. */
  async problemOf(call: string): Promise<string | null> {
    const row = this.#rows.ofCall(call)
    return row && (await this.#checked(row)).problem
  }

  /**
   * Work under a key may have been begun, and is charged, under an earlier request than the one that is answered. A receipt
   * that was kept before is another call's all the same.
   */
  #chargedRequest({ requestId, receipt, isReplayed }: AnswerHeaders): string | null {
    const named = (receipt && readReceipt(receipt)?.claims.request) ?? null
    if (isReplayed) return named
    return named !== null && this.#rows.find(this.#service, `charge:${named}`) === null ? named : requestId
  }

  /** Newest first. Those that could not be checked before are, and what the wallet was not told of is fetched. */
  async list(limit: number, { isOfAllServices = true } = {}): Promise<ReceiptRow[]> {
    if (this.#agent.pays !== 'nothing' && this.#mayHaveReceipts()) await this.#fetchMissing().catch(() => undefined)
    for (const row of this.#rows.unchecked(this.#service, recheckedReceipts)) await this.#checked(row)
    return this.#rows.list(limit, isOfAllServices ? null : this.#service)
  }

  get #service(): string {
    return this.#agent.client.address.baseUrl
  }

  /** A service that sent none where one was wanted, and has no keys, is another one of the contract. */
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

  /** Undefined where the service has no such key, null where it cannot be asked. */
  async #newKeys(keyId: string): Promise<string | null | undefined> {
    this.#keys ??= this.#fetchKeys().finally(() => {
      this.#keys = null
    })
    const keys = await this.#keys
    return keys === null ? null : keys.get(keyId)
  }

  /** Pins them. Keys that no longer stand beside those that are pinned are a stranger's: a service keeps its own published. */
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

  /** Of streams, of calls whose answer was lost and of refunds the receipt comes later. */
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

  /** False where it was here before. */
  #keepFetched(id: string, receipt: string): boolean {
    const known = this.#rows.find(this.#service, id)
    if (known) {
      if (known.state === 'unsigned') this.#rows.judge(known, { state: 'unchecked', problem: null, receipt })
      return known.state === 'unsigned'
    }
    const claims = readReceipt(receipt)?.claims
    const nowMs = this.#agent.clock.now()
    this.#rows.add({
      ...{ service: this.#service, id, state: 'unchecked', problem: null, receipt, what: null, call: null },
      ...{
        request: id.slice(id.indexOf(':') + 1),
        operation: null,
        model: null,
        saidMicroUsd: null,
        mostMicroUsd: null,
      },
      // Nobody has checked it yet: a time to come would keep it above all others.
      atMs: claims ? Math.min(nowMs, claims.iat * 1000) : nowMs,
    })
    return true
  }
}

const noCall = { params: undefined, query: undefined, body: undefined }

const asked = () => ({ attempts: 1, signal: AbortSignal.timeout(receiptAskMs) })

/** In all balances, where the answer says it. */
function saidCost(answer: unknown): MicroUsd | null {
  const cost = ChatCompletion.safeParse(answer).data?.cost
  const [usd, diem] = cost ? [fromUsdNumber(cost.usd), fromUsdNumber(cost.diem)] : [null, null]
  return usd === null || diem === null ? null : addUsd(usd, diem)
}
