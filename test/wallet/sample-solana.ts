import { encodeBase58 } from '#contract/wire/base58.ts'
import { solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { SolanaKey } from '#wallet/keys/keys.ts'
import { canarySolanaSeed } from '../canary/canaries.ts'
import { localServer } from '../local-server.ts'

/** Keys that were created for these tests. */
export const solanaKey = new SolanaKey(canarySolanaSeed)
export const payee = new SolanaKey(Buffer.alloc(32, 8)).address
export const feePayer = new SolanaKey(Buffer.alloc(32, 9)).address
export const stranger = new SolanaKey(Buffer.alloc(32, 10)).address

export const solanaOption = (changes: Partial<PaymentOption> = {}): PaymentOption => ({
  scheme: 'exact',
  network: solanaNetwork,
  amount: '5000000',
  asset: usdcOnSolana,
  payTo: payee,
  maxTimeoutSeconds: 60,
  extra: { feePayer },
  ...changes,
})

export const blockhash = encodeBase58(Buffer.alloc(32, 11))

type Answer = (params: readonly unknown[]) => unknown

/** A node that answers as it is told; a method that is not there is an error of JSON-RPC. */
export async function fakeNode(answers: Readonly<Record<string, Answer>> = {}) {
  const asked: string[] = []
  const all: Readonly<Record<string, Answer>> = {
    getLatestBlockhash: () => ({ context: { slot: 1 }, value: { blockhash, lastValidBlockHeight: 150 } }),
    ...answers,
  }
  const server = await localServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method, params } = JSON.parse(text)
    asked.push(method)
    const answer = all[method]
    const body = answer ? { result: answer(params) } : { error: { code: -32_601, message: 'Method not found' } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  })
  return {
    url: `${server.url}/secret-of-the-node`,
    asked,
    close: server.close,
  }
}

/** `getAccountInfo` of a token account with so many base units; null of one that is not there. */
export const tokenAccount = (amount: bigint | null): Answer => {
  const data = Buffer.alloc(165)
  if (amount !== null) data.writeBigUInt64LE(amount, 64)
  return () => ({ context: { slot: 1 }, value: amount === null ? null : { data: [data.toString('base64'), 'base64'] } })
}
