import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, test } from 'vitest'
import { launcher } from '../build/built-product.ts'
import { runCommand } from '../cli/run-command.ts'
import { temporaryFolder } from './open-agent.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function spawnHttp(folder: string, ...flags: string[]) {
  const child = spawn(process.execPath, [launcher, 'mcp', '--http', '--port', '0', ...flags], {
    env: { PATH: '', FAREBOX_DATA: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  closing.push(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let said = ''
  const lines = createInterface({ input: child.stdout })
  lines.on('line', line => {
    said += `${line}\n`
  })
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const [first] = (await once(lines, 'line')) as [string]
  return { first, said: () => said, stop: () => child.kill('SIGTERM'), ended }
}

test('it prints its address and its token’s file; clients with the token are served until it stops', async () => {
  const folder = temporaryFolder()
  const server = await spawnHttp(folder, '--json')
  const { url, tokenFile } = JSON.parse(server.first)
  expect(tokenFile).toBe(join(folder, 'mcp-token'))
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600)
  const token = readFileSync(tokenFile, 'utf8').trim()
  expect(token).toMatch(/^[\w-]{43}$/)
  const client = new Client({ name: 'test', version: '0' })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  const status = await client.callTool({ name: 'wallet_receipts', arguments: {} })
  expect(status.isError).toBeFalsy()
  await client.close()
  const stranger = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
  expect(stranger.status).toBe(401)
  server.stop()
  expect(await server.ended).toBe(0)
  expect(server.said()).not.toContain(token)
}, 60_000)

test('the token stays the same over a restart, and the user reads the address and the token’s path', async () => {
  const folder = temporaryFolder()
  const first = await spawnHttp(folder)
  expect(first.first).toMatch(/^farebox mcp is ready at http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  const token = readFileSync(join(folder, 'mcp-token'), 'utf8')
  first.stop()
  expect(await first.ended).toBe(0)
  const second = await spawnHttp(folder)
  expect(readFileSync(join(folder, 'mcp-token'), 'utf8')).toBe(token)
  second.stop()
  expect(await second.ended).toBe(0)
}, 60_000)

test.each([
  ['an emptied token admits no client', '', 0o600, [], /contains no valid token.*Remove the file/],
  ['a word that was put there', 'password\n', 0o600, [], /contains no valid token/],
  ['a token that others can read', `${'x'.repeat(43)}\n`, 0o644, [], /Other users.*chmod 600/],
  ['--port without --http', null, 0o600, ['--port', '1'], /need `--http`/],
])('it does not start: %s', async (_why, content, mode, flags, says) => {
  const folder = temporaryFolder()
  if (content !== null) {
    writeFileSync(join(folder, 'mcp-token'), content)
    chmodSync(join(folder, 'mcp-token'), mode)
  }
  const args = flags.length > 0 ? ['mcp', ...flags] : ['mcp', '--http', '--port', '0']
  const end = await runCommand(args, { FAREBOX_DATA: folder })
  expect(end).toMatchObject({ code: flags.length > 0 ? 2 : 1, stdout: '', stderr: expect.stringMatching(says) })
})
