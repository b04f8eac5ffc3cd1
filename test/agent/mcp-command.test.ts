import { spawn } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { temporaryFolder } from './open-agent.ts'
import { payTo, pretendService, walletKey } from './pretend-service.ts'

const bin = fileURLToPath(new URL('../../bin/farebox.mjs', import.meta.url))

async function connect(env: Record<string, string>, flags: readonly string[] = []) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp', ...flags], env: { PATH: '', ...env } }),
  )
  return client
}

const textOf = (result: Awaited<ReturnType<Client['callTool']>>): string =>
  result.content.map(part => (part.type === 'text' ? part.text : '')).join('\n')

test('without a key it starts and lists, touches nothing, and paid tools name the command', async () => {
  const data = join(temporaryFolder(), 'data')
  const client = await connect({ FAREBOX_DATA: data })
  try {
    const { tools } = await client.listTools()
    expect(tools.map(tool => tool.name)).toContain('video_create')
    expect(existsSync(data)).toBe(false)
    const result = await client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'x' } })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/FAREBOX_BASE_URL is not set.*farebox\.mjs wallet create --service URL --data /)
  } finally {
    await client.close()
  }
})

test('with a wallet and a named payee it pays for a chat; the key is not in its output', async () => {
  const service = await pretendService()
  const client = await connect({
    FAREBOX_BASE_URL: service.baseUrl,
    FAREBOX_DATA: temporaryFolder(),
    XDG_STATE_HOME: temporaryFolder(),
    FAREBOX_WALLET_KEY: walletKey,
    FAREBOX_PAYEE: payTo,
  })
  try {
    const result = await client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'x' } })
    expect(result.structuredContent).toMatchObject({ answer: 'answer 1', charged_usd: 0.001, budget_left_usd: 5 })
    const status = await client.callTool({ name: 'wallet_status', arguments: {} })
    expect(JSON.stringify([result, status])).not.toContain(walletKey)
  } finally {
    await client.close()
    await service.close()
  }
})

test('a wrong setting ends it with 2 and one sentence that names it', async () => {
  const child = spawn(process.execPath, [bin, 'mcp'], { env: { PATH: '', FAREBOX_WALLET_KEY: 'abc' } })
  const [said, told, code] = await Promise.all([
    text(child.stderr),
    text(child.stdout),
    new Promise(resolve => child.on('exit', resolve)),
  ])
  expect([code, told]).toEqual([2, ''])
  expect(said).toMatch(/^FAREBOX_WALLET_KEY is not an EVM private key/)
})

test('an encrypted wallet opens with a passphrase file that its owner alone may read', async () => {
  const service = await pretendService()
  const folder = temporaryFolder()
  const { address } = await createKeyFile(folder, 'a passphrase of some length')
  const file = join(folder, 'passphrase')
  const env = { FAREBOX_BASE_URL: service.baseUrl, FAREBOX_DATA: folder, FAREBOX_PAYEE: payTo }
  try {
    writeFileSync(file, 'a passphrase of some length\n', { mode: 0o644 })
    const refused = spawn(process.execPath, [bin, 'mcp', '--passphrase-file', file], { env: { PATH: '', ...env } })
    expect(await text(refused.stderr)).toContain('chmod 600')
    chmodSync(file, 0o600)
    const client = await connect(env, ['--passphrase-file', file])
    const status = await client.callTool({ name: 'wallet_status', arguments: {} })
    expect(status.structuredContent).toMatchObject({ pays: 'wallet', address })
    await client.close()
    writeFileSync(file, 'another one\n')
    const wrong = await connect(env, ['--passphrase-file', file])
    const result = await wrong.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'x' } })
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining('passphrase is wrong for')])
    // What is free needs no wallet.
    expect((await wrong.callTool({ name: 'models_find', arguments: {} })).isError).not.toBe(true)
    const locked = await wrong.callTool({ name: 'wallet_status', arguments: {} })
    expect(locked.structuredContent).toMatchObject({ pays: 'nothing', address })
    await wrong.close()
  } finally {
    await service.close()
  }
})

test('--data names the folder of the wallet, before the environment does', async () => {
  const folder = temporaryFolder()
  const { address } = await createKeyFile(folder, 'a passphrase of some length')
  const client = await connect({ FAREBOX_DATA: temporaryFolder() }, ['--data', folder])
  try {
    const result = await client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'x' } })
    expect(textOf(result)).toContain(`The wallet ${address} cannot pay for this`)
  } finally {
    await client.close()
  }
})
