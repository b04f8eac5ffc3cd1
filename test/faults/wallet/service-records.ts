import { paymentSignature } from '#contract/wire/headers.ts'
import { EvmPayload } from '#contract/wire/payment.ts'
import type { Behaviour } from './behaviours.ts'
import { authorizationSeconds } from './bounds.ts'

/** One authorization as the service has seen it. */
export interface Authorization {
  nonce: string
  from: string
  amountMicroUsd: bigint
  /** By its own words, in whole seconds. */
  signedAtMs: number
  /** The header, byte for byte. */
  header: string
  behaviour: Behaviour
  presentations: number
  settledMicroUsd: bigint
}

export interface Caps {
  maxPaymentMicroUsd: bigint
  maxDayMicroUsd: bigint
  maxTotalMicroUsd: bigint
}

/** An authorization says whole seconds, and the wallet decided up to a moment before it signed. */
const roundingMs = 2_000
const dayMs = 24 * 60 * 60 * 1_000

/** Every distinct authorization, and whatever the caps forbid at the moment in which it is seen. */
export class ServiceRecords {
  readonly authorizations = new Map<string, Authorization>()
  readonly failures: string[] = []
  creditMicroUsd = 0n
  /** The wallet is stopped, and nothing that was sent can still be in flight. */
  isSwitchedOff = false
  readonly #caps: Caps

  constructor(caps: Caps) {
    this.#caps = caps
  }

  /** The row of a payment that has come, the first time or again. */
  present(header: string, draw: () => Behaviour): Authorization {
    const { authorization } = EvmPayload.parse(paymentSignature.parse(header)?.payload)
    const { nonce, from, value, validBefore } = authorization
    if (this.isSwitchedOff) this.failures.push(`The payment ${nonce} was sent while the wallet was switched off.`)
    const known = this.authorizations.get(nonce)
    if (known) {
      known.presentations++
      if (known.header !== header) this.failures.push(`The payment ${nonce} came again with other bytes.`)
      return known
    }
    const signedAtMs = (Number(validBefore) - authorizationSeconds) * 1_000
    const row = {
      nonce,
      from,
      amountMicroUsd: BigInt(value),
      signedAtMs,
      header,
      presentations: 1,
      settledMicroUsd: 0n,
    }
    const authorized: Authorization = { ...row, behaviour: draw() }
    this.authorizations.set(nonce, authorized)
    this.#holdAgainstCaps(authorized)
    return authorized
  }

  settle(row: Authorization): void {
    if (row.settledMicroUsd > 0n) return
    row.settledMicroUsd = row.amountMicroUsd
    this.creditMicroUsd += row.amountMicroUsd
  }

  #holdAgainstCaps({ nonce, amountMicroUsd, signedAtMs }: Authorization): void {
    const all = [...this.authorizations.values()]
    const near = all.filter(each => Math.abs(each.signedAtMs - signedAtMs) < dayMs - roundingMs)
    // Those of the day before it and of the day after it are two days.
    const days = [
      near.filter(each => each.signedAtMs <= signedAtMs),
      near.filter(each => each.signedAtMs >= signedAtMs),
    ]
    const day = days.map(sumOf).reduce((one, other) => (one > other ? one : other), 0n)
    const { maxPaymentMicroUsd, maxDayMicroUsd, maxTotalMicroUsd } = this.#caps
    const over = (name: string, sum: bigint, cap: bigint) => {
      if (sum > cap) this.failures.push(`With ${nonce} ${sum} micro-USD are signed, over the ${name} of ${cap}.`)
    }
    over('cap of a payment', amountMicroUsd, maxPaymentMicroUsd)
    over('cap of a day', day, maxDayMicroUsd)
    over('total', sumOf(all), maxTotalMicroUsd)
  }
}

const sumOf = (rows: readonly Authorization[]): bigint => rows.reduce((sum, each) => sum + each.amountMicroUsd, 0n)
