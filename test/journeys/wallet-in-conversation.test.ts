/** From `farebox install` to the first paid answer: one command, and two clicks of the user. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launcher } from '../build/built-product.ts'
import { assistant, browser } from './conversation.ts'
import { type SpawnedUp, spawnUp } from './spawned-up.ts'

const chat = { name: 'chat', arguments: { model: 'demo-chat', prompt: 'Say hello', max_tokens: 20 } }
const textOf = (result: unknown) => JSON.stringify((result as { content: unknown }).content)

describe('a wallet that is made in the conversation', () => {
  let up: SpawnedUp
  let home: string
  beforeAll(async () => {
    up = await spawnUp()
    home = await mkdtemp(join(tmpdir(), 'farebox-home-'))
  }, 120_000)
  afterAll(async () => {
    await up?.dispose()
    rmSync(home, { recursive: true, force: true })
  })

  /** The one command. */
  const installed = () => {
    rmSync(join(up.folder, 'assistant'), { recursive: true, force: true })
    const args = [launcher, 'install', 'cursor', '--local', up.folder, '--yes']
    const { status, stderr } = spawnSync(process.execPath, args, {
      env: { HOME: home, PATH: process.env.PATH },
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, expect.any(String)])
    return JSON.parse(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')).mcpServers.farebox
  }

  test('one command and two clicks: the link, and the button that makes it', async () => {
    const startedAtMs = performance.now()
    let clicks = 0
    const client = await assistant(
      installed(),
      { elicitation: { url: {}, form: {} } },
      async ({ mode, url = '', message }) => {
        expect([mode, message]).toEqual(['url', expect.stringContaining(up.baseUrl)])
        clicks++
        const { read, press } = await browser(url)
        const page = await read()
        expect(page).toContain(up.baseUrl)
        clicks++
        expect(await press(page, { first: 'allow' })).toContain('It holds 10.00 USDC')
        return { action: 'accept' }
      },
    )
    const result = await client.callTool(chat)
    expect(result).toMatchObject({ structuredContent: { charged_usd: expect.any(Number) } })
    expect(result.isError).not.toBe(true)
    expect(clicks).toBe(2)
    process.stderr.write(
      `first paid answer after ${Math.round(performance.now() - startedAtMs)} ms and ${clicks} clicks\n`,
    )
    await client.close()
  }, 60_000)

  test('it asks before its first payment, unless the user has allowed that on the page', async () => {
    const asked: string[] = []
    const client = await assistant(
      installed(),
      { elicitation: { url: {}, form: {} } },
      async ({ mode, url = '', message }) => {
        asked.push(mode)
        if (mode !== 'url') {
          expect(message).toContain('first payment of this wallet')
          return { action: 'accept', content: { approved: true } }
        }
        const { read, press } = await browser(url)
        await press(await read(), { first: 'ask', maxDayUsd: '5' })
        return { action: 'accept' }
      },
    )
    expect((await client.callTool(chat)).isError).not.toBe(true)
    expect(asked).toEqual(['url', 'form'])
    expect((await client.callTool({ ...chat, arguments: { ...chat.arguments, prompt: 'again' } })).isError).not.toBe(
      true,
    )
    expect(asked).toHaveLength(2)
    expect(JSON.parse(readFileSync(join(up.folder, 'assistant/policy.json'), 'utf8'))).toEqual({
      maxDayUsd: '5',
      askFirstTopUp: true,
    })
    expect(await client.callTool({ name: 'wallet_status', arguments: {} })).toMatchObject({
      structuredContent: { caps_usd: { per_day: 5 }, next_payment_asks: false },
    })
    await client.close()
  }, 60_000)

  test('a client with forms alone shows the link in one, and asks for no passphrase there', async () => {
    const client = await assistant(installed(), { elicitation: {} }, async asked => {
      const link = /http:\/\/127\.0\.0\.1:\d+\/open\/\S+/.exec(asked.message)?.[0] ?? ''
      expect(JSON.stringify(asked)).not.toMatch(/"(passphrase|password)"/)
      const { read, press } = await browser(link)
      await press(await read(), { first: 'allow' })
      return { action: 'accept', content: { done: true } }
    })
    expect((await client.callTool(chat)).isError).not.toBe(true)
    await client.close()
  }, 60_000)

  test('a client that can ask nothing gets the command to type, and no link', async () => {
    const client = await assistant(installed(), {}, async () => ({ action: 'decline' }))
    const said = textOf(await client.callTool(chat))
    expect(said).toMatch(/wallet create --service http:/)
    expect(said).not.toContain('/open/')
    await client.close()
  }, 60_000)

  test('a user who declines is asked once in a call, and nothing is made', async () => {
    let asked = 0
    const client = await assistant(installed(), { elicitation: { url: {} } }, async () => {
      asked++
      return { action: 'decline' }
    })
    expect(textOf(await client.callTool(chat))).toMatch(/wallet create --service http:/)
    expect(asked).toBe(1)
    await client.close()
  }, 60_000)
})
