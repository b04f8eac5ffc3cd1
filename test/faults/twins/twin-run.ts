import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { paymentResponse } from '#contract/wire/headers.ts'
import { type Behaviour, behaviours } from './behaviours.ts'
import { creditedWithinMs, quotedCharacters, requestMs, requestsAtOnce, resendMs } from './bounds.ts'
import { newAddress } from './new-address.ts'
import type { Rail, TwinPayment } from './rail.ts'
import { TwinService } from './twin-service.ts'

/** The ways in which twins write one payment: its header's name, its encoding, the order of its members. */
const spellings: readonly ((payment: object) => [name: string, value: string])[] = [
  payment => ['payment-signature', base64(JSON.stringify(payment))],
  payment => ['x-payment', base64(JSON.stringify(payment))],
  payment => ['x-402-payment', base64(JSON.stringify(payment, null, 1))],
  payment => ['payment-signature', Buffer.from(JSON.stringify(payment)).toString('base64url')],
  payment => ['payment-signature', base64(JSON.stringify(Object.fromEntries(Object.entries(payment).reverse())))],
  payment => [
    'payment-signature',
    base64(JSON.stringify({ ...payment, extensions: { walletAddress: 'somebody else' } })),
  ],
]

const base64 = (text: string): string => Buffer.from(text).toString('base64')

export function spell(payment: object, twin: number): [name: string, value: string] {
  const write = spellings[twin % spellings.length] ?? spellings[0]
  if (!write) throw new Error('There is no way to write a payment.')
  return write(payment)
}

export interface TwinAnswer {
  /** 0 where the connection broke before there was an answer. */
  status: number
  text: string
  /** The header that tells what was settled; empty where there is none. */
  settlement: string
}

/** One request on a connection of its own. */
export const sendTwin = (url: string, [name, value]: [string, string]): Promise<TwinAnswer> =>
  new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { [name]: value },
      localAddress: newAddress(),
      agent: false,
      signal: AbortSignal.timeout(requestMs),
    } as const
    const outgoing = request(url, options, async response => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk)
        const settlement = String(response.headers['payment-response'] ?? '')
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), settlement })
      } catch (error) {
        reject(error)
      }
    })
    outgoing
      .on('error', error => {
        // On a busy machine a connection may break; the sender retries, as after any lost answer.
        if ('code' in error && error.code === 'ECONNRESET') resolve({ status: 0, text: '', settlement: '' })
        else reject(error)
      })
      .end()
  })

const mayComeAgain = ['X402_SETTLEMENT_PENDING', 'X402_TOP_UP_FAILED']

/** What is wrong with an answer to a good payment: anything but its credit, and the request to send the same one again. */
export function wrongAnswer({ status, text }: TwinAnswer): string | null {
  if (status === 200 || status === 0) return null
  const quoted = `${status} ${text.slice(0, quotedCharacters)}`
  if (status !== 500) return `A good payment was answered with ${quoted}`
  const body = JSON.parse(text) as { error?: string; details?: { retry?: string } }
  const isWell = mayComeAgain.includes(body.error ?? '') && body.details?.retry === 'same-payload'
  return isWell ? null : `A good payment was not told to be sent again: ${quoted}`
}

export interface TwinOptions {
  payments: number
  twins: number
  onBehaviour?: (row: BehaviourRow) => void
}

/** What came of all payments under one behaviour. */
export interface BehaviourRow {
  behaviour: Behaviour
  requests: number
  /** Twins that had the credit with their first request, and those that were told to send the same payment again. */
  creditedAtOnce: number
  pending: number
  /** Requests whose connection broke, which came again as well. */
  cut: number
  /** How often a facilitator was asked to settle. */
  settlements: number
  transfers: number
  credits: number
  ms: number
}

export interface TwinReport {
  rows: BehaviourRow[]
  transfersMicroUsd: bigint
  creditsMicroUsd: bigint
  findings: string[]
}

/** Sends every payment many times at once, under every behaviour of a facilitator, and holds the ledger against the chain. */
export async function runTwins(rail: Rail, options: TwinOptions): Promise<TwinReport> {
  const service = await TwinService.open(rail)
  try {
    const run = new TwinRun(rail, service, options)
    const rows: BehaviourRow[] = []
    for (const behaviour of behaviours) {
      const row = await run.behave(behaviour)
      rows.push(row)
      options.onBehaviour?.(row)
    }
    return await run.report(rows)
  } finally {
    await service.close()
  }
}

class TwinRun {
  readonly #rail: Rail
  readonly #service: TwinService
  readonly #options: TwinOptions
  readonly #findings: string[] = []
  readonly #payers: string[] = []
  /** What each payer was told: that it paid, and in which transaction. */
  readonly #told = new Map<string, string>()
  #row: BehaviourRow | null = null

  constructor(rail: Rail, service: TwinService, options: TwinOptions) {
    this.#rail = rail
    this.#service = service
    this.#options = options
  }

  async behave(behaviour: Behaviour): Promise<BehaviourRow> {
    const { payments, twins } = this.#options
    const startedMs = performance.now()
    const before = { transfers: (await this.#rail.transfers()).length, credits: (await this.#service.credits()).length }
    const counts = {
      requests: 0,
      creditedAtOnce: 0,
      pending: 0,
      cut: 0,
      settlements: 0,
      transfers: 0,
      credits: 0,
      ms: 0,
    }
    const row: BehaviourRow = { behaviour, ...counts }
    this.#row = row
    const settling = await this.#rail.settleBadly(behaviour)
    try {
      await this.#service.settleBy(settling)
      const atOnce = Math.max(1, Math.floor(requestsAtOnce / twins))
      for (let done = 0; done < payments; done += atOnce) {
        await Promise.all(Array.from({ length: Math.min(atOnce, payments - done) }, () => this.#pay()))
      }
      await settling.quiet()
      await this.#service.rest()
    } finally {
      await settling.close()
    }
    row.settlements = settling.settlements()
    row.transfers = (await this.#rail.transfers()).length - before.transfers
    row.credits = (await this.#service.credits()).length - before.credits
    row.ms = Math.round(performance.now() - startedMs)
    return row
  }

  /** One payment with all its twins, and after it those that were told to try again in a moment. */
  async #pay(): Promise<void> {
    const paying = await this.#rail.pay()
    this.#payers.push(paying.payer)
    const twins = Array.from({ length: this.#options.twins }, (_, twin) => twin)
    const answers = await Promise.all(twins.map(twin => this.#send(paying, twin)))
    const open = twins.filter(twin => answers[twin]?.status !== 200)
    this.#count('creditedAtOnce', twins.length - open.length)
    this.#count('pending', open.length)
    if (open.length > 0) answers.push(await this.#untilCredited(paying))
    // By now it is credited, so one answer is what is left to hear; a connection may break once more.
    answers.push(...(await Promise.all(open.map(twin => this.#sendAnswered(paying, twin)))))
    this.#compare(paying, answers.slice(twins.length), answers)
  }

  /** All that came last are credits, and all credits are the same bytes. */
  #compare({ payer }: TwinPayment, last: readonly TwinAnswer[], all: readonly TwinAnswer[]): void {
    const missing = last.filter(({ status }) => status !== 200).length
    if (missing > 0) this.#findings.push(`${missing} twins of ${payer} were not credited when they came again.`)
    const credited = all.filter(({ status }) => status === 200)
    const different = new Set(credited.map(({ text, settlement }) => `${text} ${settlement}`)).size
    if (different !== 1) this.#findings.push(`The twins of ${payer} got ${different} different answers.`)
    const settlement = paymentResponse.parse(credited[0]?.settlement ?? '')
    this.#told.set(payer, `${settlement?.payer} ${settlement?.transaction}`)
  }

  async #untilCredited(paying: TwinPayment): Promise<TwinAnswer> {
    const untilMs = performance.now() + creditedWithinMs
    for (;;) {
      const answer = await this.#send(paying, 0)
      if (answer.status === 200 || performance.now() > untilMs) return answer
      await sleep(resendMs)
    }
  }

  async #sendAnswered(paying: TwinPayment, twin: number): Promise<TwinAnswer> {
    const answer = await this.#send(paying, twin)
    return answer.status === 0 ? this.#send(paying, twin) : answer
  }

  async #send({ payment }: TwinPayment, twin: number): Promise<TwinAnswer> {
    this.#count('requests', 1)
    const answer = await sendTwin(this.#service.url, spell(payment, twin))
    if (answer.status === 0) this.#count('cut', 1)
    const wrong = wrongAnswer(answer)
    if (wrong) this.#findings.push(wrong)
    return answer
  }

  #count(what: 'requests' | 'creditedAtOnce' | 'pending' | 'cut', by: number): void {
    if (this.#row) this.#row[what] += by
  }

  /** At rest: what the ledger credited is what the chain moved to the payee, once for every payment, to its payer. */
  async report(rows: BehaviourRow[]): Promise<TwinReport> {
    const [credits, transfers] = [await this.#service.credits(), await this.#rail.transfers()]
    const [creditsMicroUsd, transfersMicroUsd] = [sumOf(credits), sumOf(transfers)]
    const findings = this.#findings
    if (creditsMicroUsd !== transfersMicroUsd) findings.push('The credits are not what the payee has received.')
    if (new Set(credits.map(({ ref }) => ref)).size !== credits.length) findings.push('A payment was credited twice.')
    const accounts = credits.map(({ account }) => account).sort()
    const expected = this.#payers.map(payer => `wallet:${payer}`).sort()
    if (accounts.join() !== expected.join()) findings.push('The credits are not one for each payer.')
    const senders = transfers.map(({ from }) => from).sort()
    if (senders.join() !== [...this.#payers].sort().join()) findings.push('The transfers are not one of each payer.')
    const wrong = transfers.filter(({ from, transaction }) => this.#told.get(from) !== `${from} ${transaction}`).length
    if (wrong > 0) findings.push(`${wrong} payers were told of another transaction than theirs.`)
    for (const [state, count] of await this.#service.states()) {
      if (state !== 'credited') findings.push(`${count} payments are ${state} at rest.`)
    }
    for (const finding of await this.#service.findings()) findings.push(`The audit finds ${JSON.stringify(finding)}.`)
    return { rows, creditsMicroUsd, transfersMicroUsd, findings }
  }
}

const sumOf = (amounts: readonly { amountMicroUsd: bigint }[]): bigint =>
  amounts.reduce((sum, { amountMicroUsd }) => sum + amountMicroUsd, 0n)
