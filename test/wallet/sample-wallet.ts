import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { microUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { EvmPayload, type PaymentOption } from '#contract/wire/payment.ts'
import { keyFromHex } from '#wallet/keys/keys.ts'
import { noNode } from '#wallet/limits.ts'
import type { Send, Sent } from '#wallet/payment/send-payment.ts'
import { type PolicySettings, readPolicy } from '#wallet/rules/policy.ts'
import type { Order } from '#wallet/terms/order.ts'
import { openWallet, type Wallet, type WalletOptions } from '#wallet/wallet.ts'
import { canaryEvmKey } from '../canary/canaries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

export { temporaryFolder }

export const origin = 'https://service.example'
export const payTo = '0x1111111111111111111111111111111111111111'
export const attacker = '0x2222222222222222222222222222222222222222'
export const secret = canaryEvmKey
export const usd = (amount: number) => microUsd(Math.round(amount * 1_000_000))

export const option = (changes: Partial<PaymentOption> = {}): PaymentOption => ({
  scheme: 'exact',
  network: evmNetwork,
  amount: '5000000',
  asset: usdcOnEvm,
  payTo,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
  ...changes,
})

export const order = (changes: Partial<Order> = {}): Order => ({
  origin,
  accepts: [option()],
  amountMicroUsd: usd(0.3),
  occasion: 'after-402',
  purpose: 'a chat',
  ...changes,
})

export const policy = (changes: Partial<PolicySettings> = {}) =>
  readPolicy({
    serviceUrl: `${origin}/api/v1`,
    payees: [{ network: evmNetwork, asset: usdcOnEvm, payTo }],
    ...changes,
  })

/** No node is asked. */
export const nobody = { eip155: noNode, solana: noNode }

/** A clock that moves only when told. */
export function fakeClock(startMs = Date.UTC(2026, 10, 21)): Clock & { advance(ms: number): void } {
  let nowMs = startMs
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms
    },
  }
}

/** A service that settles each authorization once, in memory; `answers` sets its behaviour, and the last one repeats. */
export function fakeService(address: string, ...answers: Behaviour[]) {
  const settled = new Map<string, bigint>()
  const received: string[] = []
  const send: Send = async header => {
    received.push(header)
    const behaviour = answers.length > 1 ? answers.shift() : answers[0]
    const { nonce, value } = readHeader(header).authorization
    if (behaviour === 'reject') return { kind: 'rejected', status: 400, reason: 'insufficient_funds' }
    if (behaviour === 'lose before') return { kind: 'unknown', reason: 'connection reset' }
    settled.set(nonce, BigInt(value))
    if (behaviour === 'lose after') return { kind: 'unknown', reason: 'connection reset' }
    if (behaviour === 'pending') return { kind: 'unknown', reason: '500 X402_SETTLEMENT_PENDING' }
    if (behaviour === 'throw after') throw new Error('a sender should not throw')
    return credited(address, BigInt(value), nonce)
  }
  return { send, settled, received }
}

export type Behaviour = 'credit' | 'reject' | 'lose before' | 'lose after' | 'throw after' | 'pending'

export const credited = (address: string, value: bigint, paymentId = 'p'): Sent => ({
  kind: 'credited',
  result: {
    success: true,
    data: { walletAddress: address, amountCredited: Number(value) / 1e6, newBalance: Number(value) / 1e6, paymentId },
  },
  settlement: { success: true, network: evmNetwork, payer: address, transaction: '0xabc' },
})

export function readHeader(header: string) {
  const payload = paymentSignature.parse(header)
  if (!payload) throw new Error('The header cannot be read.')
  return { ...EvmPayload.parse(payload.payload), accepted: payload.accepted }
}

/** A wallet in a folder of its own, with a clock that stands still and no waiting. */
export async function sampleWallet(settings: Partial<PolicySettings> = {}, options: Partial<WalletOptions> = {}) {
  const folder = options.dataFolder ?? temporaryFolder()
  const clock = fakeClock()
  const pauses: number[] = []
  const opened: Wallet[] = []
  const open = async () => {
    const wallet = openWallet({
      key: await keyFromHex(secret),
      policy: policy(settings),
      dataFolder: folder,
      notesFolder: join(folder, 'notes'),
      // Its service is none of this machine, so the public nodes would be asked.
      nodes: nobody,
      clock,
      pause: async ms => {
        pauses.push(ms)
        await new Promise(resolve => setImmediate(resolve))
      },
      ...options,
    })
    opened.push(wallet)
    return wallet
  }
  const wallet = await open()
  return {
    wallet,
    folder,
    clock,
    pauses,
    open,
    /** Windows removes no file that is open. */
    async dispose() {
      for (const each of opened) await each.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
