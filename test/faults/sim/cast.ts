import { microUsd } from '#contract/money.ts'
import { keyHash } from '#service/identity/key-secret.ts'
import type { Op } from '#service/store/units.ts'
import { uuidV7Floor } from '#service/store/uuid-v7.ts'
import type { Caller } from './callers.ts'
import { dollars, serverSecret, type World } from './world.ts'

const addressOf = (digit: number): string => `0x${`${digit}`.repeat(40)}`

/** Customers with credit, one of them hardly any, and wallets that have nothing here yet. */
const customers: readonly [name: string, usd: number][] = [
  ['ada', 5],
  ['bob', 0.4],
  ['cyd', 0.05],
]
const wallets = ['wim', 'xia'] as const

/** What every payer has on the chain: enough for many top-ups, not for all. */
const chainUsd = 150

/** Opens the accounts, straight in the books: how they are opened is no part of a fault run. */
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
      }
      commit(world, name, [
        { op: 'account', account: caller.account, kind: 'customer', atMs },
        { op: 'wallet', wallet: caller.wallet, account: caller.account, atMs },
        {
          ...{ op: 'credit', account: caller.account, amount: microUsd(dollars(usd)), source: 'system:grant' },
          ...{ ref: `grant:${name}`, atMs },
        } as Op,
        {
          ...{ op: 'key', key: `key-${name}`, account: caller.account, hash: hash(secret), prefix: 'fb_' },
          ...{ label: name, expiresAtMs: null, atMs },
        } as Op,
      ])
      return caller
    }),
    ...wallets.map((name, index): Caller => {
      const wallet = addressOf(index + 5)
      return { name, account: `wallet:${wallet}`, address: `10.2.0.${index}`, secret: null, wallet }
    }),
  ]
  for (const { wallet } of all) world.chain.mint(wallet, dollars(chainUsd))
  return all
}

function commit(world: World, name: string, ops: Op[]): void {
  const unit = { id: `${uuidV7Floor(world.trueMs())}/${name}`, ops }
  const [outcome] = world.database.commit([unit])
  if (!outcome || !('ok' in outcome) || !outcome.ok) throw new Error(`The account of ${name} could not be opened.`)
  world.units.onApplied(unit, outcome)
}
