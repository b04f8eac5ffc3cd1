import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { microUsd, parseUsd } from '#contract/money.ts'
import type { JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import { audit } from '#ledger/audit/audit.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Facilitator, Settlement } from '#payments/facilitators/rail.ts'
import type { OnChain, PaymentChain, SignedPayment } from '#payments/payment/payment.ts'
import { payerOf } from '#payments/rails/rails.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import { type OpenedService, openService, TestClock, testOption } from '../../service/open-service.ts'
import type { Transfer } from '../checks/chain-transfers.ts'
import { checkCharges, checkJobs, checkJobsEnded, checkUnknownCharges } from '../checks/check-ledger.ts'
import { checkAnswered, checkChainAtRest, checkTopUps } from '../checks/check-top-ups.ts'
import { Findings } from '../checks/findings.ts'
import { LoadRecords } from '../load-records.ts'
import { signTopUp } from '../loads/sign-payment.ts'
import { sqliteLedger } from '../test-ledgers.ts'
import { FailingStore } from './failing-store.ts'

/** Done at the second look, or failed where the prompt says so. */
export class InstantVideo implements VideoEngine {
  readonly carries = () => true
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async start(): Promise<JobProgress> {
    return { state: 'running', engineState: { at: 'work' } }
  }

  async poll({ jobId, request }: VideoCall): Promise<JobProgress> {
    if (request.prompt.includes('fails')) return { state: 'failed', reason: 'It was asked to.' }
    await mkdir(this.#folder, { recursive: true })
    const path = join(this.#folder, `${jobId}.mp4`)
    await writeFile(path, 'a film')
    return { state: 'completed', path, mimeType: 'video/mp4' }
  }
}

/** Settles whatever it is given, once, on a chain that is a list. */
export class PlainPayments implements Facilitator, PaymentChain {
  readonly transfers: Transfer[] = []
  readonly #network: string

  constructor(network: string) {
    this.#network = network
  }

  supported(): readonly string[] {
    return [this.#network]
  }

  async problem(): Promise<null> {
    return null
  }

  async verify(): Promise<{ valid: true }> {
    return { valid: true }
  }

  async settle(payment: SignedPayment): Promise<Settlement> {
    const nonce = nonceOf(payment)
    const known = this.transfers.find(each => each.nonce === nonce)
    if (known) return { state: 'refused', reason: 'nonce_used' }
    const transaction = `0x${(this.transfers.length + 1).toString(16).padStart(64, '0')}`
    this.transfers.push({ nonce, from: payerOf(payment), amount: BigInt(payment.option.amount), transaction })
    return { state: 'settled', transaction }
  }

  async find(payment: SignedPayment): Promise<OnChain> {
    const known = this.transfers.find(each => each.nonce === nonceOf(payment))
    if (!known) return { state: 'open', chainTimeSeconds: 0 }
    return { state: 'landed', transaction: known.transaction, amount: microUsd(known.amount) }
  }
}

const nonceOf = ({ key }: SignedPayment): string => key.slice(key.lastIndexOf(':') + 1)

const credit = 100

/** Beyond every lease; well within the life of a signed payment that was made for it. */
const laterMs = 120_000

/** The service on a real store that can fail, on one folder, opened anew when asked. */
export class NthWorld {
  readonly store = new FailingStore()
  readonly book = new LoadRecords()
  readonly #folder: string
  // By the machine's time, because a payment's life is signed by it.
  readonly #clock = new TestClock(Date.now())
  readonly #payments = new PlainPayments(testOption.network)
  #topUps: TopUps | null = null
  #opened: OpenedService | null = null
  key = ''

  constructor(folder: string) {
    this.#folder = folder
  }

  get service(): OpenedService {
    if (!this.#opened) throw new Error('The service is not open.')
    return this.#opened
  }

  async open(): Promise<void> {
    this.#opened = await openService({
      folder: this.#folder,
      clock: this.#clock,
      video: new InstantVideo(join(this.#folder, 'films')),
      storeBefore: real => this.store.before(real),
      payments: store => this.#openTopUps(store),
    })
    await this.#topUps?.completer.start()
  }

  #openTopUps(store: Store): TopUps {
    this.#topUps = new TopUps({
      settings: { publicUrl: 'http://127.0.0.1:8402', paymentOptions: [testOption] },
      store,
      clock: this.#clock,
      log: { info() {}, warn() {}, error() {} },
      facilitator: this.#payments,
      chain: this.#payments,
      owner: randomUUID(),
    })
    return this.#topUps
  }

  async customer(): Promise<void> {
    this.key = await this.service.key(credit)
    const { account } = await this.service.store.read.selectFrom('api_key').select('account').executeTakeFirstOrThrow()
    this.book.grants.set(account, parseUsd(`${credit}`) ?? 0n)
  }

  /** A payment, in the book before it is sent. */
  async sign() {
    const payment = await signTopUp(privateKeyToAccount(generatePrivateKey()), testOption, 5_000_000n)
    this.book.topUps.push(payment)
    return payment
  }

  async close(): Promise<void> {
    await this.#topUps?.close()
    await this.#opened?.close()
    this.#opened = null
  }

  /** As after a restart, some time later. */
  async reopen(): Promise<void> {
    await this.close()
    this.store.heal()
    this.#clock.pass(laterMs)
    await this.open()
  }

  async check(): Promise<Findings> {
    const findings = new Findings()
    const { database } = this.service
    const rows = await sqliteLedger(database).read()
    const report = await audit(database, { clock: this.#clock, expiredHoldMs: 0 })
    for (const { sentence } of report.findings) findings.fail(`The audit finds: ${sentence}`)
    for (const surprise of this.book.surprises) findings.fail(surprise)
    checkCharges(this.book, rows, findings)
    checkUnknownCharges(this.book, rows, new Set(), findings)
    checkJobs(this.book, rows, findings)
    checkJobsEnded(rows, findings)
    checkTopUps(this.book, rows, this.#payments.transfers, findings)
    checkChainAtRest(rows, this.#payments.transfers, findings)
    checkAnswered(this.book, this.#payments.transfers, findings)
    if (rows.holds.length) findings.fail(`${rows.holds.length} holds are left.`)
    return findings
  }
}
