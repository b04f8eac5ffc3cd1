import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type ChainRecord, chainFolderOf, readChainRecord, writeChainRecord } from '#local/chain/folder.ts'
import { askChain, findFreePort } from '#local/chain/process.ts'
import { startLocalEvmChain } from '#local/evm/chain.ts'
import { MINTER_ADDRESS } from '#local/evm/token.ts'
import { chainClient, newAccount } from './stock-payment.ts'
import { temporaryChain, temporaryDataDir } from './temporary-chain.ts'

const someone = newAccount().address

async function recordOf(dataDir: string): Promise<ChainRecord> {
  const record = await readChainRecord(chainFolderOf(dataDir))
  if (!record) throw new Error('no chain is recorded')
  return record
}

/** Ends only what the test started, and waits until its port is closed. */
async function killChain(dataDir: string): Promise<void> {
  const { pid, port } = await recordOf(dataDir)
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(askChain(`http://127.0.0.1:${port}`, 'eth_chainId')).rejects.toThrow(), 30_000)
}

async function ownerProcess(dataDir: string): Promise<{ child: ChildProcess; rpcUrl: string }> {
  const file = fileURLToPath(new URL('owner-child.ts', import.meta.url))
  const child = spawn(process.execPath, [file, dataDir, someone], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  return { child, rpcUrl: (JSON.parse(line.toString()) as { rpcUrl: string }).rpcUrl }
}

test('it is chain 8453 on loopback, with none of the known development accounts', async () => {
  const chain = await temporaryChain()
  expect(new URL(chain.rpcUrl).hostname).toBe('127.0.0.1')
  expect(await askChain(chain.rpcUrl, 'eth_chainId')).toBe('0x2105')
  expect(await askChain(chain.rpcUrl, 'eth_accounts')).toEqual([MINTER_ADDRESS.toLowerCase()])
  const known = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  expect(await chainClient(chain).getBalance({ address: known })).toBe(0n)
})

test('a clean stop ends the process and keeps every balance, three times over', async () => {
  const dataDir = await temporaryDataDir()
  for (const [round, origin] of ['none', 'saved', 'saved'].entries()) {
    const chain = await startLocalEvmChain({ dataDir })
    expect(chain.origin).toBe(origin)
    await chain.mintUsdc(someone, 1_000_000n)
    await chain.stop()
    await chain.stop()
    await expect(askChain(chain.rpcUrl, 'eth_chainId')).rejects.toThrow()
    expect(await readChainRecord(chainFolderOf(dataDir)), `round ${round}`).toBeNull()
  }
  const last = await startLocalEvmChain({ dataDir })
  expect(await last.balanceOf(someone)).toBe(3_000_000n)
  await last.stop()
})

test('a killed owner leaves the chain running, and the next start finds the same one', async () => {
  const dataDir = await temporaryDataDir()
  const { child, rpcUrl } = await ownerProcess(dataDir)
  const before = await recordOf(dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain).toMatchObject({ origin: 'running', rpcUrl })
  expect(await recordOf(dataDir)).toEqual(before)
  expect(await chain.balanceOf(someone)).toBe(3_000_000n)
  await chain.stop()
  const resumed = await startLocalEvmChain({ dataDir })
  expect(resumed.origin).toBe('saved')
  expect(await resumed.balanceOf(someone)).toBe(3_000_000n)
  await resumed.stop()
})

test('an owner killed before its chain had answered leaves one that is found as well', async () => {
  const dataDir = await temporaryDataDir()
  const { child, rpcUrl } = await ownerProcess(dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await writeChainRecord(chainFolderOf(dataDir), { ...(await recordOf(dataDir)), instanceId: null })
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain).toMatchObject({ origin: 'running', rpcUrl })
  expect((await recordOf(dataDir)).instanceId).toMatch(/^0x/)
  await chain.stop()
})

test('two processes do not own one chain', async () => {
  const dataDir = await temporaryDataDir()
  await ownerProcess(dataDir)
  await expect(startLocalEvmChain({ dataDir })).rejects.toThrow(
    /^Another farebox process owns the local chain in .*stop it/,
  )
})

test('a chain that was killed resumes from the state that it saved last', async () => {
  const dataDir = await temporaryDataDir()
  const { child } = await ownerProcess(dataDir)
  const { state } = chainFolderOf(dataDir)
  const mintedAtMs = Date.now()
  await vi.waitFor(async () => expect((await stat(state)).mtimeMs).toBeGreaterThan(mintedAtMs), 30_000)
  await killChain(dataDir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain.origin).toBe('saved')
  expect(await chain.balanceOf(someone)).toBe(3_000_000n)
  await chain.stop()
})

test('a record whose port has gone to another program is stale', async () => {
  const dataDir = await temporaryDataDir()
  const other = createServer((_request, response) => response.end('{"result":"0x2105"}')).listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const first = await startLocalEvmChain({ dataDir })
  await first.stop()
  const { port } = other.address() as AddressInfo
  await writeChainRecord(chainFolderOf(dataDir), { pid: process.pid, port, instanceId: '0xdead' })
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain.origin).toBe('saved')
  expect(chain.rpcUrl).not.toContain(`:${port}`)
  await chain.stop()
})

test('a record of another anvil is not taken for ours', async () => {
  const dataDir = await temporaryDataDir()
  const other = await temporaryChain()
  const port = Number(new URL(other.rpcUrl).port)
  await startLocalEvmChain({ dataDir }).then(chain => chain.stop())
  await writeChainRecord(chainFolderOf(dataDir), { pid: process.pid, port, instanceId: `0x${'0'.repeat(64)}` })
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain.rpcUrl).not.toBe(other.rpcUrl)
  await chain.stop()
  expect(await askChain(other.rpcUrl, 'eth_chainId')).toBe('0x2105')
})

test('a record that cannot be read is as none', async () => {
  const dataDir = await temporaryDataDir()
  await startLocalEvmChain({ dataDir }).then(chain => chain.stop())
  await writeFile(chainFolderOf(dataDir).record, '{"pid":')
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain.origin).toBe('saved')
  await chain.stop()
})

test('a torn state falls back to the one that the last start began with, and without it nothing is started', async () => {
  const dataDir = await temporaryDataDir()
  const folder = chainFolderOf(dataDir)
  for (let round = 0; round < 2; round++) {
    const chain = await startLocalEvmChain({ dataDir })
    await chain.mintUsdc(someone, 1_000_000n)
    await chain.stop()
  }
  await truncate(folder.state, 500)
  const chain = await startLocalEvmChain({ dataDir })
  expect(chain.origin).toBe('previous')
  expect(await chain.balanceOf(someone)).toBe(1_000_000n)
  await chain.stop()
  await truncate(folder.state, 500)
  await truncate(folder.previousState, 500)
  await expect(startLocalEvmChain({ dataDir })).rejects.toThrow(/cannot be read; move its data folder away/)
  expect((await readFile(folder.state)).length).toBe(500)
})

test('calls see the time of the start, not of the last block before the stop', async () => {
  const dataDir = await temporaryDataDir()
  await startLocalEvmChain({ dataDir }).then(chain => chain.stop())
  // Blocks count whole seconds, so the two must differ by more than one.
  await sleep(1_100)
  const startedAtS = Math.floor(Date.now() / 1000)
  const chain = await startLocalEvmChain({ dataDir })
  expect(Number((await chainClient(chain).getBlock()).timestamp)).toBeGreaterThanOrEqual(startedAtS)
  await chain.stop()
})

test('the token bears the name that was asked for, and another one at the next start', async () => {
  const dataDir = await temporaryDataDir()
  const first = await startLocalEvmChain({ dataDir, tokenName: 'USD Coin' })
  expect(first.tokenName).toBe('USD Coin')
  await first.stop()
  const second = await startLocalEvmChain({ dataDir })
  expect(second.tokenName).toBe('USD Coin (local)')
  await second.stop()
  await expect(startLocalEvmChain({ dataDir, tokenName: ' ' })).rejects.toThrow(/--token-name between 1 and 64/)
})

/** Below the ports that the system assigns, so that no process takes it between two uses. */
async function quietPort(): Promise<number> {
  for (;;) {
    const port = await findFreePort(20_000 + Math.floor(Math.random() * 10_000))
    if (port !== null) return port
  }
}

test('a port that was asked for is used, and a busy one is named', async () => {
  const port = await quietPort()
  const busy = await temporaryChain({ port })
  expect(busy.rpcUrl).toBe(`http://127.0.0.1:${port}`)
  const dataDir = await temporaryDataDir()
  await expect(startLocalEvmChain({ dataDir, port })).rejects.toThrow(`Port ${port} is in use`)
  await busy.stop()
  const chain = await startLocalEvmChain({ dataDir, port })
  expect(chain.rpcUrl).toBe(busy.rpcUrl)
  await chain.stop()
})
