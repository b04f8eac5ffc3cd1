import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, stat, truncate } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  type ChainRecord,
  chainFolderOf,
  readChainRecord,
  solanaFolderOf,
  writeChainRecord,
} from '#local/chain/folder.ts'
import { askChain } from '#local/chain/process.ts'
import { fundFromFaucet } from '#local/faucet.ts'
import { loadLocalSolanaKeys } from '#local/keys.ts'
import { solanaProblem, startLocalSolanaChain } from '#local/solana/chain.ts'
import { solanaDataDir, temporarySolanaChain } from './temporary-solana.ts'

const someone = 'BLZRi6frs4X4DNLw56V4EXai1b6QVESN1BhHBTYM9VcY'

async function recordOf(dataDir: string): Promise<ChainRecord> {
  const record = await readChainRecord(solanaFolderOf(dataDir))
  if (!record) throw new Error('no chain is recorded')
  return record
}

async function ownerProcess(dataDir: string): Promise<{ child: ChildProcess; rpcUrl: string }> {
  const file = fileURLToPath(new URL('solana-owner-child.ts', import.meta.url))
  const child = spawn(process.execPath, [file, dataDir, someone], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  return { child, rpcUrl: (JSON.parse(line.toString()) as { rpcUrl: string }).rpcUrl }
}

const signaturesAt = async (rpcUrl: string) => {
  const { value } = (await askChain(rpcUrl, 'getTokenAccountsByOwner', [
    someone,
    { mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' },
    { encoding: 'base64' },
  ])) as { value: { pubkey: string }[] }
  const listed = await askChain(rpcUrl, 'getSignaturesForAddress', [value[0]?.pubkey])
  return (listed as { signature: string; slot: number }[]).map(({ signature, slot }) => `${signature} ${slot}`)
}

test('a clean stop ends the process and keeps balances, transactions, the faucet and the height, three times over', async () => {
  const dataDir = await solanaDataDir()
  let [known, height]: [string[], number] = [[], 0]
  for (const [round, origin] of ['none', 'saved', 'saved'].entries()) {
    const chain = await startLocalSolanaChain({ dataDir })
    expect(chain.origin).toBe(origin)
    expect(await chain.balanceOf(someone)).toBe(1_000_000n * BigInt(round))
    if (round > 0) expect(await signaturesAt(chain.rpcUrl)).toEqual(known)
    expect(Number(await askChain(chain.rpcUrl, 'getBlockHeight'))).toBeGreaterThanOrEqual(height)
    await chain.mintUsdc(someone, 1_000_000n)
    await chain.fundSol(someone)
    known = await signaturesAt(chain.rpcUrl)
    height = Number(await askChain(chain.rpcUrl, 'getBlockHeight'))
    await chain.stop()
    await chain.stop()
    await expect(askChain(chain.rpcUrl, 'getHealth')).rejects.toThrow()
    expect(await readChainRecord(solanaFolderOf(dataDir))).toBeNull()
  }
  expect(known).toHaveLength(3)
})

test('a killed owner leaves the chain running, and the next start finds the same one', async () => {
  const dataDir = await solanaDataDir()
  const { child, rpcUrl } = await ownerProcess(dataDir)
  const before = await recordOf(dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const chain = await startLocalSolanaChain({ dataDir })
  expect(chain).toMatchObject({ origin: 'running', rpcUrl })
  expect(await recordOf(dataDir)).toEqual(before)
  expect(await chain.balanceOf(someone)).toBe(3_000_000n)
  await chain.stop()
})

test('two processes do not own one chain', async () => {
  const dataDir = await solanaDataDir()
  await ownerProcess(dataDir)
  await expect(startLocalSolanaChain({ dataDir })).rejects.toThrow(
    /^Another farebox process owns the local chain in .*stop it/,
  )
})

test('a chain that was killed resumes from the state that it saved last', async () => {
  const dataDir = await solanaDataDir()
  const { child } = await ownerProcess(dataDir)
  const { state } = solanaFolderOf(dataDir)
  await vi.waitFor(() => stat(state), 30_000)
  const { pid, port } = await recordOf(dataDir)
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(askChain(`http://127.0.0.1:${port}`, 'getHealth')).rejects.toThrow(), 30_000)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const chain = await startLocalSolanaChain({ dataDir })
  expect(chain.origin).toBe('saved')
  expect(await chain.balanceOf(someone)).toBe(3_000_000n)
  await chain.stop()
})

test('a record of another chain is not taken for ours', async () => {
  const [dataDir, other] = [await solanaDataDir(), await temporarySolanaChain()]
  const port = Number(new URL(other.rpcUrl).port)
  await startLocalSolanaChain({ dataDir }).then(chain => chain.stop())
  await writeChainRecord(solanaFolderOf(dataDir), { pid: process.pid, port, instanceId: 'another' })
  const chain = await startLocalSolanaChain({ dataDir })
  expect(chain.rpcUrl).not.toBe(other.rpcUrl)
  await chain.stop()
})

test('a torn state falls back to the one that the last start began with, and without it nothing is started', async () => {
  const dataDir = await solanaDataDir()
  const folder = solanaFolderOf(dataDir)
  for (let round = 0; round < 2; round++) {
    const chain = await startLocalSolanaChain({ dataDir })
    await chain.mintUsdc(someone, 1_000_000n)
    await chain.stop()
  }
  await truncate(folder.state, 500)
  const chain = await startLocalSolanaChain({ dataDir })
  expect(chain.origin).toBe('previous')
  expect(await chain.balanceOf(someone)).toBe(1_000_000n)
  await chain.stop()
  await truncate(folder.state, 500)
  await truncate(folder.previousState, 500)
  await expect(startLocalSolanaChain({ dataDir })).rejects.toThrow(/cannot be read; move its data folder away/)
})

test('its files lie beside those of the other chain, for their owner alone', async () => {
  const dataDir = await solanaDataDir()
  const chain = await startLocalSolanaChain({ dataDir })
  await chain.mintUsdc(someone, 1n)
  await loadLocalSolanaKeys(dataDir)
  await chain.stop()
  const folder = solanaFolderOf(dataDir)
  const theirs = Object.values(chainFolderOf(dataDir))
  for (const name of await readdir(folder.path)) expect(theirs).not.toContain(`${folder.path}/${name}`)
  for (const secret of [folder.state, folder.keys]) expect((await stat(secret)).mode & 0o777).toBe(0o600)
  expect((await stat(folder.path)).mode & 0o777).toBe(0o700)
})

test('the faucet mints on the running chain of a folder, beside its owner, each amount once', async () => {
  const dataDir = await solanaDataDir()
  const chain = await startLocalSolanaChain({ dataDir })
  const amounts = [1n, 20n, 300n, 300n, 300n]
  await Promise.all(amounts.map(amountMicroUsd => fundFromFaucet({ dataDir, address: someone, amountMicroUsd })))
  const funded = await fundFromFaucet({ dataDir, address: someone, amountMicroUsd: 4_000n })
  expect(funded).toMatchObject({ address: someone, balanceMicroUsd: 4_921n })
  const status = { value: [{ err: null, confirmationStatus: 'finalized' }] }
  expect(await askChain(chain.rpcUrl, 'getSignatureStatuses', [[funded.transaction]])).toMatchObject(status)
  const tooMuch = fundFromFaucet({ dataDir, address: someone, amountMicroUsd: 10n ** 15n + 1n })
  await expect(tooMuch).rejects.toThrow(/mints between 0.000001 and 1000000000 USD/)
  await chain.stop()
  const late = fundFromFaucet({ dataDir, address: someone, amountMicroUsd: 1n })
  await expect(late).rejects.toThrow(
    /No local Solana chain is running in .*; use --data with the folder that `farebox up` printed/,
  )
  const nowhere = fundFromFaucet({ dataDir, address: `${someone}1`, amountMicroUsd: 1n })
  await expect(nowhere).rejects.toThrow(/not an address\. Give 0x .* or a Solana address in base58/)
})

test.each([
  [
    'the package is missing',
    () => {
      throw new Error('not found')
    },
    /^The package litesvm is not installed.*npm install litesvm/,
  ],
  [
    'there is none for the platform',
    (name: string) => {
      if (name === 'litesvm') return '/there/litesvm.js'
      throw new Error('not found')
    },
    /^The binary of litesvm for sunos on sparc is not installed/,
  ],
])('where %s there is no Solana chain, and one sentence says so', (_what, resolve, sentence) => {
  expect(solanaProblem(resolve, 'sunos', 'sparc')).toMatch(sentence)
})

test('on Windows, no sentence says to install what does not exist', () => {
  const resolve = () => {
    throw new Error('not found')
  }
  expect(solanaProblem(resolve, 'win32', 'x64')).toBe(
    'litesvm has no package for Windows, so there is no local Solana chain.',
  )
})
