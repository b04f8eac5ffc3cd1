import { createHash } from 'node:crypto'
import { z } from 'zod'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { chainClockMs, listedSignatures } from '../bounds.ts'
import { askNode, NodeFailed, type Payee, type TransferSource } from './audit-transfers.ts'

const Listed = z.array(z.object({ signature: z.string(), err: z.unknown(), blockTime: z.number().nullish() }))
const Balances = z
  .array(
    z.object({
      accountIndex: z.number(),
      mint: z.string(),
      uiTokenAmount: z.object({ amount: z.string().regex(/^\d{1,20}$/) }),
    }),
  )
  .nullish()
const Loaded = z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish()
const Executed = z
  .object({
    meta: z.object({ preTokenBalances: Balances, postTokenBalances: Balances, loadedAddresses: Loaded }),
    transaction: z.tuple([z.string(), z.literal('base64')]),
  })
  .nullable()
type Executed = NonNullable<z.output<typeof Executed>>

/** What a node must be sure of before it counts here: blocks that are voted for by two thirds of the stake. */
const commitment = 'confirmed'

/** Transfers to a token account on Solana, by the transactions that name it. */
export function svmTransfers(rpcUrl: string): TransferSource {
  const ask = <Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>) =>
    askNode(rpcUrl, method, params, result)

  async function* signatures(account: string, sinceMs: number): AsyncGenerator<string> {
    for (let before: string | undefined; ; ) {
      const config = { limit: listedSignatures, commitment, ...(before === undefined ? {} : { before }) }
      const listed = await ask('getSignaturesForAddress', [account, config], Listed)
      for (const { signature, err } of listed) if (err === null) yield signature
      const last = listed.at(-1)
      // The newest come first, and not every node knows the time of every block.
      const isOlder = last?.blockTime != null && last.blockTime * 1000 < sinceMs - chainClockMs
      if (!last || isOlder || listed.length < listedSignatures) return
      before = last.signature
    }
  }

  return {
    async *transfers(payee, sinceMs) {
      for await (const signature of signatures(payee.account, sinceMs)) {
        const config = { encoding: 'base64', commitment, maxSupportedTransactionVersion: 0 }
        const executed = await ask('getTransaction', [signature, config], Executed)
        if (!executed) throw new NodeFailed('The node lists a transaction that it does not have.', true)
        const message = messageOf(Buffer.from(executed.transaction[0], 'base64'))
        const amount = received(payee, executed, message)
        // What leaves the account names it as well.
        if (amount <= 0n) continue
        const hash = createHash('sha256').update(message).digest('hex')
        yield { transaction: signature, amount, paymentKey: async () => `svm:${payee.network}:${hash}` }
      }
    },
  }
}

const signatureBytes = 64
const keyBytes = 32

/** What is signed: all that follows the signatures. */
function messageOf(transaction: Buffer): Buffer {
  const [count, start] = shortNumber(transaction, 0)
  return transaction.subarray(start + count * signatureBytes)
}

/** By how much the token account's balance rose. */
function received({ account, asset }: Payee, { meta }: Executed, message: Buffer): bigint {
  const { writable = [], readonly = [] } = meta.loadedAddresses ?? {}
  const place = [...accountsOf(message), ...writable, ...readonly].indexOf(account)
  const amountIn = (balances: z.output<typeof Balances>) =>
    BigInt(
      balances?.find(({ accountIndex, mint }) => accountIndex === place && mint === asset)?.uiTokenAmount.amount ?? 0,
    )
  return amountIn(meta.postTokenBalances) - amountIn(meta.preTokenBalances)
}

/** A versioned message has a first byte of its own, above 127; the three of the header follow in either. */
function accountsOf(message: Buffer): string[] {
  const header = (message[0] ?? 0) > 127 ? 1 : 0
  const [count, start] = shortNumber(message, header + 3)
  const at = (place: number) => start + place * keyBytes
  return Array.from({ length: count }, (_, place) => encodeBase58(message.subarray(at(place), at(place + 1))))
}

/** Solana's short numbers: seven bits a byte, the lowest first, at most three bytes. Answers where the next byte is. */
function shortNumber(bytes: Buffer, start: number): [value: number, next: number] {
  let value = 0
  for (let place = 0; place < 3; place++) {
    const byte = bytes[start + place] ?? 0
    value |= (byte & 127) << (7 * place)
    if (byte < 128) return [value, start + place + 1]
  }
  return [value, start + 3]
}
