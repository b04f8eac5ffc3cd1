import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { microUsd, parseUsd } from '#contract/money.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import type { Book } from './book.ts'
import { customers, customerUsd, walletMicroUsd, wallets } from './bounds.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'farebox.mjs')

/** Customers with a key and credit, made as an operator makes them beside a running server. */
export async function makeKeys(folder: string, env: NodeJS.ProcessEnv, book: Book): Promise<string[]> {
  const keys: string[] = []
  for (let made = 0; made < customers; made++) {
    const { key, account } = await createKey(folder, env)
    book.grants.set(account, parseUsd(customerUsd) ?? 0n)
    keys.push(key)
  }
  return keys
}

async function createKey(folder: string, env: NodeJS.ProcessEnv): Promise<{ key: string; account: string }> {
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
  return JSON.parse(printed) as { key: string; account: string }
}

/** Wallets with test money of the local chain. */
export async function fundWallets(folder: string): Promise<PrivateKeyAccount[]> {
  const funded = Array.from({ length: wallets }, () => privateKeyToAccount(generatePrivateKey()))
  for (const { address } of funded) {
    await fundFromFaucet({ dataDir: folder, address, amountMicroUsd: microUsd(walletMicroUsd) })
  }
  return funded
}
