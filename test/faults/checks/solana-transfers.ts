import { z } from 'zod'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { askChain } from '#local/chain/process.ts'
import { messageHash } from '../loads/solana-top-up.ts'
import type { Transfer } from './chain-transfers.ts'

const Listed = z.array(z.object({ signature: z.string() }))
const Balances = z.array(z.object({ owner: z.string(), uiTokenAmount: z.object({ amount: z.string() }) }))
const Executed = z.object({
  meta: z.object({ err: z.unknown(), preTokenBalances: Balances, postTokenBalances: Balances }),
  transaction: z.tuple([z.string(), z.literal('base64')]),
})
const Accounts = z.object({ value: z.array(z.object({ pubkey: z.string() })) })

/** As many as a node lists at once. */
const mostListed = 1_000

/** What came to the payee's token account by the blocks of the local Solana chain; what was read once is not asked again. */
export class SolanaTransfers {
  readonly #known = new Map<string, Transfer | null>()

  async read(rpcUrl: string, payee: string): Promise<Transfer[]> {
    const found = await askChain(rpcUrl, 'getTokenAccountsByOwner', [
      payee,
      { mint: usdcOnSolana },
      { encoding: 'base64' },
    ])
    for (const { pubkey } of Accounts.parse(found).value) await this.#readAccount(rpcUrl, pubkey, payee)
    return [...this.#known.values()].filter(transfer => transfer !== null)
  }

  async #readAccount(rpcUrl: string, account: string, payee: string): Promise<void> {
    let before: string | undefined
    do {
      const config = { limit: mostListed, ...(before === undefined ? {} : { before }) }
      const listed = Listed.parse(await askChain(rpcUrl, 'getSignaturesForAddress', [account, config]))
      const fresh = listed.filter(({ signature }) => !this.#known.has(signature))
      for (const { signature } of fresh) this.#known.set(signature, await readTransfer(rpcUrl, signature, payee))
      // They come newest first, so older ones are known where the last of these is.
      before = fresh.length === mostListed ? fresh.at(-1)?.signature : undefined
    } while (before !== undefined)
  }
}

/** Null where it moved nothing to the payee, as one that opens its account. */
async function readTransfer(rpcUrl: string, signature: string, payee: string): Promise<Transfer | null> {
  const config = { encoding: 'base64', maxSupportedTransactionVersion: 0 }
  const { meta, transaction } = Executed.parse(await askChain(rpcUrl, 'getTransaction', [signature, config]))
  const amountIn = (balances: z.output<typeof Balances>) =>
    BigInt(balances.find(({ owner }) => owner === payee)?.uiTokenAmount.amount ?? 0)
  const amount = amountIn(meta.postTokenBalances) - amountIn(meta.preTokenBalances)
  if (meta.err !== null || amount === 0n) return null
  const from = meta.preTokenBalances.find(({ owner }) => owner !== payee)?.owner ?? ''
  return { nonce: messageHash(transaction[0]), from, amount, transaction: signature }
}
