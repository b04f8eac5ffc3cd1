import { resolve } from 'node:path'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { filledIn } from '#agent/settings/settings.ts'
import { type AssistantClient, assistantClients } from '#cli/assistants/clients.ts'
import { install } from '#cli/commands/install.ts'
import { canaryApiKey, canaryEvmKey } from '../canary/canaries.ts'
import { runCommand } from './run-command.ts'

interface Server {
  command: string
  args: string[]
  env: Record<string, string>
  env_vars?: string[]
}

/** The entry as the client's own parser reads it, with the members that most clients have. */
function serverIn({ format, keys: [list] }: AssistantClient, text: string): Server {
  const { farebox } = (format === 'TOML' ? parse(text) : JSON.parse(text))[list]
  const { command, args, env, environment, ...rest } = farebox
  const [program, ...words] = [command, args ?? []].flat()
  return { ...rest, command: program, args: words, env: env ?? environment }
}

const clientNamed = (name: string) => assistantClients.find(client => client.name === name) as AssistantClient

const env = { FAREBOX_API_KEY: canaryApiKey, FAREBOX_WALLET_KEY: canaryEvmKey, FAREBOX_SOLANA_RPC_URL: canaryApiKey }

test.each(assistantClients)(
  '$name: its configuration can be read, starts this farebox, and holds no key',
  async client => {
    const { name } = client
    const { code, stdout, stderr } = await runCommand(['mcp', '--print-config', name], env)
    expect(code).toBe(0)
    const server = serverIn(client, stdout)
    expect(server).toMatchObject({
      command: 'node',
      args: [resolve('farebox.mjs'), 'mcp'],
      env: { FAREBOX_BASE_URL: expect.stringMatching(/^https:\/\/.*\/api\/v1$/) },
    })
    expect(server?.env_vars?.[0] ?? server?.env.FAREBOX_API_KEY).toMatch(
      /^(\$?\{?(env:|input:)?)?farebox_api_key(:-)?\}?$|^WRITE THE API KEY HERE/i,
    )
    expect(stderr).toMatch(/^Save this in \S+/)
    expect(install.usage).toContain(name)
    expect(`${stdout}${stderr}`).not.toMatch(new RegExp(`${canaryApiKey}|${canaryEvmKey}`))
  },
)

test('a placeholder that a client leaves as it is counts as no key', async () => {
  for (const client of assistantClients) {
    const { stdout } = await runCommand(['mcp', '--print-config', client.name], env)
    const { FAREBOX_API_KEY = '' } = serverIn(client, stdout).env
    // VS Code always asks, and Claude Code and opencode fill in nothing where there is nothing.
    const left = FAREBOX_API_KEY.replace(/\$\{(input:.*|.*:-)\}|^\{env:.*\}/, '')
    expect(filledIn({ FAREBOX_API_KEY: left })).toEqual({})
  }
})

test('the server’s options are among its arguments, with absolute paths', async () => {
  const flags = ['--tools', 'chat', '--data', 'w', '--passphrase-file', 'p']
  const { stdout } = await runCommand(['mcp', '--print-config', 'zed', ...flags])
  const carried = ['--tools', 'chat', '--data', resolve('w'), '--passphrase-file', resolve('p')]
  expect(serverIn(clientNamed('zed'), stdout).args.slice(1)).toEqual(['mcp', ...carried])
})

test('an unknown client is wrong usage, and the error lists the known ones', async () => {
  const end = await runCommand(['mcp', '--print-config', 'emacs'])
  expect(end).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('claude-code, claude-desktop, vscode'),
  })
})

test.each([
  ['https://x.example/api/v1', 'https://x.example/api/v1'],
  ['https://me:secret@x.example/api/v1', 'https://api.service.example/api/v1'],
])('the service of this terminal is written in, unless its address has a secret: %s', async (given, written) => {
  for (const client of assistantClients) {
    const { stdout, stderr } = await runCommand(['mcp', '--print-config', client.name], { FAREBOX_BASE_URL: given })
    expect(serverIn(client, stdout).env.FAREBOX_BASE_URL).toBe(written)
    expect(stderr).not.toContain('secret')
  }
})
