import { readFile, rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../postgres/cluster.ts'
import { farebox, type SpawnedUp, spawnUp } from './spawned-up.ts'

/** Processes, stdio, a chain, a ledger on disk and an MP4, all as a user meets them. */
describe('the journey', () => {
  let first: SpawnedUp
  beforeAll(async () => {
    first = await spawnUp({ args: ['--once'] })
    expect(await first.ended).toBe(0)
  }, 90_000)
  afterAll(() => rm(first.folder, { recursive: true, force: true }))

  const step = (up: SpawnedUp, name: string) => up.lines.find(line => line.event === 'step' && line.name === name)

  test('every step succeeds, in order', () => {
    const steps = first.lines.filter(line => line.event === 'step')
    expect(steps.map(line => [line.name, line.ok])).toEqual(
      ['chat', 'video quote', 'video create', 'video wait', 'consent', 'limits', 'receipts'].map(name => [name, true]),
    )
    expect(first.lines.at(-1)).toEqual({ event: 'done', ok: true })
    expect(first.errors()).toBe('')
  })

  test('the chat met a 402 and the wallet paid it', () => {
    expect(step(first, 'chat')?.detail).toContain('402, so the wallet paid 5.00 USD')
  })

  test('the credit that is left is what was bought less every charge', () => {
    const detail = step(first, 'limits')?.detail
    const spent = first.lines.map(({ costUsd }) => Number(costUsd ?? 0)).reduce((sum, cost) => sum + cost, 0)
    expect(Number(/^credit (\d+\.\d+) USD; /.exec(String(detail))?.[1])).toBeCloseTo(5 - spent, 6)
  })

  test('the video costs what was quoted', () => {
    const quoted = Number(/cost ([\d.]+) USD/.exec(String(step(first, 'video quote')?.detail))?.[1])
    expect(step(first, 'video create')?.costUsd).toBe(quoted)
  })

  test('the file is an MP4 of the asked length', async () => {
    const file = first.lines.find(line => line.event === 'file')
    const bytes = await readFile(String(file?.path))
    expect(bytes.length).toBe(file?.bytes)
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp')
    expect(movieSeconds(bytes)).toBeCloseTo(4, 1)
  })

  test('the user saw the whole policy before anything was queued', () => {
    const detail = String(step(first, 'consent')?.detail)
    expect(detail).toContain('likeness')
    expect(detail).not.toMatch(/^\| …$/m)
    expect(detail).toContain('ticked the three statements')
  })

  test('the ledger adds up', async () => {
    const audit = await farebox('ledger', 'audit', '--data', first.folder)
    expect([audit.code, audit.stdout]).toEqual([0, expect.stringContaining('drift: 0.00 USD')])
  })

  test('a second start continues with the same ledger and chain, and reports that there was no 402', async () => {
    const second = await spawnUp({ folder: first.folder, args: ['--once'] })
    expect(await second.ended).toBe(0)
    expect(step(second, 'chat')?.detail).toContain('there was no 402')
    const told = (up: SpawnedUp) => String(step(up, 'receipts')?.detail).split('\n')
    expect(told(first)[0]).toBe('1 payment of the wallet')
    expect(told(second)[0]).toContain('the wallet paid nothing')
    // Those of the first run are kept, and not told again.
    const charges = (up: SpawnedUp) => told(up).filter(line => / for .*receipt verified/.test(line))
    expect(charges(second)).toHaveLength(3)
    expect(charges(second).filter(line => charges(first).includes(line))).toEqual([])
  }, 60_000)

  test('a wallet that has paid nothing says so, where the credit came from elsewhere', async () => {
    await rm(`${first.folder}/agent`, { recursive: true })
    const third = await spawnUp({ folder: first.folder, args: ['--once'] })
    expect(await third.ended).toBe(0)
    expect(step(third, 'receipts')).toMatchObject({
      ok: true,
      detail: expect.stringContaining('the wallet paid nothing'),
    })
  }, 60_000)
})

test('two runs on one folder and one port both ask the user', async () => {
  const port = await freePort()
  const run = { args: ['--once', '--port', String(port)] }
  const first = await spawnUp(run)
  expect(await first.ended).toBe(0)
  const second = await spawnUp({ ...run, folder: first.folder })
  expect(await second.ended).toBe(0)
  expect(second.baseUrl).toBe(first.baseUrl)
  for (const { lines } of [first, second]) {
    const consent = lines.find(line => line.event === 'step' && line.name === 'consent')
    expect(consent).toMatchObject({ ok: true, detail: expect.stringContaining('ticked the three statements') })
  }
  await second.dispose()
}, 90_000)

describe('what cannot start says so in one sentence', () => {
  test('a busy port', async () => {
    const up = await spawnUp()
    const other = await spawnUp({
      folder: `${up.folder}-other`,
      args: ['--no-journey', '--port', new URL(up.baseUrl).port],
    }).catch(error => String(error))
    expect(other).toMatch(/ended with 1: Port \d+ is taken\. Choose another port with `--port`/)
    await rm(`${up.folder}-other`, { recursive: true, force: true })
    await up.dispose()
  }, 60_000)

  test('a folder that another one runs on', async () => {
    const up = await spawnUp()
    const other = await spawnUp({ folder: up.folder }).catch(error => String(error))
    expect(other).toMatch(/ended with 1: [^\n]+\n?$/)
    await up.dispose()
  }, 60_000)
})

/** Duration in the movie header (`mvhd`), version 0. */
function movieSeconds(bytes: Buffer): number {
  const at = bytes.indexOf('mvhd') + 4
  return bytes.readUInt32BE(at + 16) / bytes.readUInt32BE(at + 12)
}
