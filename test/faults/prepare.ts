import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { askService, runningService } from '#cli/data/service-admin.ts'
import { formatUsd, microUsd, parseUsd } from '#contract/money.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { customerUsd, solanaWallets, walletMicroUsd, wallets } from './bounds.ts'
import type { BudgetKey, LoadRecords } from './load-records.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'farebox.mjs')

export interface Customer {
  key: string
  keyId: string
  account: string
}

/** A customer with a key and credit, made as an operator makes one beside a running server. */
export async function makeCustomer(folder: string, env: NodeJS.ProcessEnv, book: LoadRecords): Promise<Customer> {
  const customer = await createKey(folder, env)
  book.grants.set(customer.account, parseUsd(customerUsd) ?? 0n)
  return customer
}

/** Another key of a customer, with a budget; null where the server died meanwhile. */
export async function makeBudgetKey(
  folder: string,
  { account }: Customer,
  { period, limitMicroUsd }: Pick<BudgetKey, 'period' | 'limitMicroUsd'>,
): Promise<Customer | null> {
  const budget = { period, usd: formatUsd(limitMicroUsd) }
  return askForKey(folder, { usd: '0', label: '', account, budget })
}

/** A customer with this credit, made without a process of its own; null where the server died meanwhile. */
export async function makeSmallCustomer(
  folder: string,
  creditMicroUsd: bigint,
  book: LoadRecords,
): Promise<Customer | null> {
  const customer = await askForKey(folder, { usd: formatUsd(creditMicroUsd), label: '' })
  if (customer) book.grants.set(customer.account, creditMicroUsd)
  return customer
}

async function askForKey(folder: string, order: object): Promise<Customer | null> {
  const running = await runningService(dataFolder(folder))
  const made = running && (await askService(running, '/admin/v1/keys', order).catch(() => null))
  return made as Customer | null
}

async function createKey(folder: string, env: NodeJS.ProcessEnv): Promise<Customer> {
  const args = [launcher, 'keys', 'create', '--usd', customerUsd, '--json', '--data', folder]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`farebox keys create ended with ${code}.`)
  return JSON.parse(printed) as Customer
}

/** Wallets with test money of the local chain. */
export async function fundWallets(folder: string): Promise<PrivateKeyAccount[]> {
  const funded = Array.from({ length: wallets }, () => privateKeyToAccount(generatePrivateKey()))
  for (const { address } of funded) await fund(folder, address, walletMicroUsd)
  return funded
}

/** The same on Solana. */
export async function fundSolanaWallets(folder: string): Promise<KeyPairSigner[]> {
  const funded = await Promise.all(Array.from({ length: solanaWallets }, () => generateKeyPairSigner()))
  for (const { address } of funded) await fund(folder, address, walletMicroUsd)
  return funded
}

export const fund = (folder: string, address: string, amountMicroUsd: bigint) =>
  fundFromFaucet({ dataDir: folder, address, amountMicroUsd: microUsd(amountMicroUsd) })
