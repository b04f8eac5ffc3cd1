import { keyHash } from '#access/keys/key-hash.ts'
import { microUsd } from '#contract/money.ts'
import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Op } from '#ledger/store/units.ts'
import type { Caller } from './callers.ts'
import { SolanaWallet } from './solana-transfer.ts'
import { dollars, serverSecret, type World } from './world.ts'

const addressOf = (digit: number): string => `0x${`${digit}`.repeat(40)}`

/** Customers with credit, one of them hardly any, and wallets that have nothing here yet. */
const customers: readonly [name: string, usd: number][] = [
  ['ada', 5],
  ['bob', 0.4],
  ['cyd', 0.05],
  ['dee', 3],
]

/** What a key may spend of its account's credit, in micro-USD. */
const budgets: Readonly<Record<string, KeyBudget>> = {
  dee: { period: 'epoch', usd: microUsd(150_000), staking: microUsd(20_000) },
}

/** What a wallet gives its account each day, in micro-USD. */
const stakes: Readonly<Record<string, bigint>> = { ada: 120_000n, dee: 60_000n, xia: 90_000n }
const wallets = ['wim', 'xia'] as const

/** What every payer has on the chain: enough for many top-ups, not for all. */
const chainUsd = 150

/** Opens the accounts, straight in the ledger: how they are opened is no part of a fault run. */
export function openCast(world: World): Caller[] {
  const { hash } = keyHash(Buffer.from(serverSecret))
  const atMs = world.trueMs()
  const all: Caller[] = [
    ...customers.map(([name, usd], index): Caller => {
      const secret = `fb_${name.padEnd(43, '0')}`
      const caller = {
        name,
        account: `customer:${name}`,
        address: `10.1.0.${index}`,
        secret,
        wallet: addressOf(index + 1),
        solana: index < 2 ? new SolanaWallet(index + 1) : null,
      }
      world.commit(name, [
        { op: 'account', account: caller.account, kind: 'customer', atMs },
        { op: 'wallet', wallet: caller.wallet, account: caller.account, atMs },
        ...solanaLink(caller, atMs),
        {
          ...{ op: 'credit', account: caller.account, amount: microUsd(dollars(usd)), source: 'system:grant' },
          ...{ ref: `grant:${name}`, atMs },
        } as Op,
        {
          ...{ op: 'key', key: `key-${name}`, account: caller.account, hash: hash(secret), prefix: 'fb_' },
          ...{ label: name, expiresAtMs: null, budget: budgets[name] ?? null, atMs },
        } as Op,
      ])
      return caller
    }),
    ...wallets.map((name, index): Caller => {
      const wallet = addressOf(index + 5)
      return { name, account: `wallet:${wallet}`, address: `10.2.0.${index}`, secret: null, wallet, solana: null }
    }),
  ]
  for (const { name, wallet, solana } of all) {
    world.chains.evm.mint(wallet, dollars(chainUsd))
    if (solana) world.chains.svm.mint(solana.address, dollars(chainUsd))
    world.stakes.set(wallet, stakes[name] ?? 0n)
  }
  return all
}

const solanaLink = ({ solana, account }: Caller, atMs: number): Op[] =>
  solana ? [{ op: 'wallet', wallet: solana.address, account, atMs }] : []
