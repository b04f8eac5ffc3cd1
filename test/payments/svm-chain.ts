import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { address, createKeyPairSignerFromPrivateKeyBytes, type KeyPairSigner } from '@solana/kit'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { SolanaNode } from '#local/solana/node.ts'
import { serveNode, solanaMethods } from '#local/solana/rpc-server.ts'
import { readState } from '#local/solana/state-file.ts'
import { installUsdc, mintUsdc, usdcAccountOf, usdcBalance } from '#local/solana/token.ts'
import { SolanaKey } from '#payments/solana/solana-key.ts'

/** A wallet of Solana, as kit signs with it and as the service holds one. */
export interface SvmAccount {
  address: string
  signer: KeyPairSigner
  key: SolanaKey
  /** Base58 of 64 bytes. */
  secretKey: string
}

export async function newSvmAccount(): Promise<SvmAccount> {
  const seed = randomBytes(32)
  const signer = await createKeyPairSignerFromPrivateKeyBytes(seed)
  const publicBytes = new Uint8Array(await crypto.subtle.exportKey('raw', signer.keyPair.publicKey))
  const secretKey = encodeBase58(Buffer.concat([seed, publicBytes]))
  return { address: signer.address, signer, key: new SolanaKey(secretKey), secretKey }
}

export interface SvmChain {
  url: string
  node: SolanaNode
  mint(owner: string, microUsd: bigint): Promise<void>
  usdcOf(owner: string): Promise<bigint>
  lamportsOf(at: string): bigint
  /** Transactions that raised the balance of this wallet's token account, or failed to, the newest first. */
  transfersTo(owner: string): Promise<{ signature: string; err: unknown; amount: bigint }[]>
  stop(): Promise<void>
}

/** A chain of its own for one test file: litesvm in this process, behind its JSON-RPC. */
export async function startSvmChain(): Promise<SvmChain> {
  const node = await SolanaNode.open(readState('/nowhere/state.json'))
  installUsdc(node)
  const server = serveNode(
    node,
    solanaMethods('test', () => undefined),
  )
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    node,
    mint: async (owner, microUsd) => void (await mintUsdc(node, address(owner), microUsd)),
    usdcOf: owner => usdcBalance(node, address(owner)),
    lamportsOf: at => node.account(address(at))?.lamports ?? 0n,
    async transfersTo(owner) {
      const token = await usdcAccountOf(address(owner))
      return node.executedWith(token).flatMap(({ signature, err, accounts, preTokenBalances, postTokenBalances }) => {
        const amountIn = (balances: typeof preTokenBalances) =>
          BigInt(balances.find(each => accounts[each.accountIndex] === token)?.uiTokenAmount.amount ?? 0)
        const amount = amountIn(postTokenBalances) - amountIn(preTokenBalances)
        // Opening the account moved nothing and is no payment.
        return err === null && amount === 0n ? [] : [{ signature, err, amount }]
      })
    },
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
