import { z } from 'zod'
import { jsonOf } from '#contract/wire/json.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { x402Version } from '#contract/wire/networks.ts'
import {
  FacilitatorSettlement,
  facilitatorKinds,
  type PaymentOption,
  type PaymentPayload,
  paysFrom,
} from '#contract/wire/payment.ts'
import { textWithin } from '../chains/nodes.ts'
import { facilitatorAnswerBytes, facilitatorSettleMs, facilitatorSupportedMs } from '../limits.ts'
import { plainReason } from '../payment/send-payment.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/**
 * Submits a signed transfer to the chain and pays the network's fee, because the wallet holds only USDC. It can only
 * move the signed amount to the signed address, or do nothing.
 */
export interface Settler {
  /** The name in the row: the address of a facilitator, or `local chain`. */
  readonly name: string
  /** The name for the user. */
  readonly shown: string
  /**
   * Returns who pays the fee on Solana, which is part of what the payer signs; null on other chains. A settler with
   * several accounts returns `signed` if it is one of them. Throws a refusal if it does not settle on this network.
   */
  feePayerOn(network: string, signed?: unknown): Promise<string | null>
  /** Never rejects, because the chain decides the outcome. */
  settle(payment: PaymentPayload, option: PaymentOption): Promise<SettlerAnswer>
}

export type SettlerAnswer =
  | { kind: 'settled'; transaction: string | null }
  /** The settler refused. That proves nothing: the transfer may still be executed while it is valid. */
  | { kind: 'refused'; reason: string }
  | { kind: 'unknown'; reason: string }

/** In a row: the user submits the transfer. */
export const printedSettler = 'printed'

/**
 * Settles on Base and Solana without an account; it is contacted only after the user has seen its name. Its list of
 * 2026-10-19 has both networks in x402 version 2.
 */
const publicFacilitator = 'https://facilitator.payai.network'

/**
 * An x402 facilitator, over HTTP. Sends nothing before its first use. Throws a refusal for an address that must not be
 * used.
 */
export function facilitatorAt(address: string = publicFacilitator): Settler {
  const base = baseOf(address)
  const { host } = base
  return {
    name: base.href,
    shown: `the facilitator ${host}`,
    async feePayerOn(network, signed) {
      const answer = await ask(base, 'supported', null, facilitatorSupportedMs).catch(() => null)
      const kinds = answer?.status === 200 ? facilitatorKinds(answer.body) : null
      if (!kinds) throw refusal(`The facilitator ${host} did not list the networks that it supports.`)
      const kind = kinds.find(each => each.network === network)
      if (!kind) throw refusal(`The facilitator ${host} does not settle on ${network}.`)
      if (!network.startsWith('solana:')) return null
      const feePayer = z.string().safeParse(paysFrom(kind, signed) ? signed : kind.extra?.feePayer)
      if (feePayer.success) return feePayer.data
      throw refusal(`The facilitator ${host} does not name the account that pays fees on Solana.`)
    },
    async settle(payment, option) {
      const body = { x402Version, paymentPayload: payment, paymentRequirements: option }
      try {
        return readAnswer(await ask(base, 'settle', body, facilitatorSettleMs))
      } catch {
        return { kind: 'unknown', reason: 'no answer' }
      }
    },
  }
}

interface Answer {
  status: number
  body: unknown
}

/** Follows no redirect, because the signed transfer is for this server only. */
async function ask(base: URL, path: 'supported' | 'settle', body: object | null, timeoutMs: number) {
  const response = await fetch(new URL(path, base), {
    method: body ? 'POST' : 'GET',
    headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await textWithin(response, facilitatorAnswerBytes)
  return { status: response.status, body: jsonOf(text) } satisfies Answer
}

function readAnswer({ status, body }: Answer): SettlerAnswer {
  const settled = FacilitatorSettlement.safeParse(body)
  const kind = status >= 400 && status < 500 ? 'refused' : 'unknown'
  if (!settled.success) return { kind, reason: `answered ${status}` }
  const { success, transaction, errorReason } = settled.data
  if (success) return { kind: 'settled', transaction: plainId(transaction) }
  const reason = plainReason(errorReason ?? `answered ${status}`)
  return { kind: inFlight.has(reason) ? 'unknown' : 'refused', reason }
}

/** Reasons for which the transfer may appear on the chain soon: it was sent, or an earlier request is being settled. */
const inFlight: ReadonlySet<string> = new Set(['settlement_pending', 'duplicate_settlement'])

/** A hash on an EVM chain or a signature on Solana. */
const plainId = (text: string | null | undefined): string | null =>
  text && /^(0x[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{64,88})$/.test(text) ? text : null

function baseOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null
  const isEncrypted = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (!url || !isEncrypted || url.username || url.password || url.search || url.hash)
    throw new WalletRefusal({
      rule: 'settings',
      sentence: 'The address of the facilitator must be an https URL without user, password, query or fragment.',
      nextStep: `Write it as ${publicFacilitator}; plain http works only on this machine.`,
    })
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/`
  return url
}

const refusal = (sentence: string): WalletRefusal =>
  new WalletRefusal({
    rule: 'settings',
    sentence,
    nextStep: 'Nothing was signed. Choose another facilitator with `--facilitator URL`.',
  })
