import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { filledIn } from '#agent/settings/settings.ts'
import { assistantClients } from '#cli/assistants/clients.ts'
import { mcp } from '#cli/commands/mcp.ts'
import { canaryApiKey, canaryEvmKey } from '../canary/canaries.ts'
import { runCommand } from './run-command.ts'

interface Server {
  command: string
  args: string[]
  env: Record<string, string>
  env_vars?: string[]
}

/** What of TOML the text for Codex is made of: one table, texts, lists, and one table within a line. */
function tableOf(text: string): Server {
  const [head, ...lines] = text.trim().split('\n')
  expect(head).toBe('[mcp_servers.farebox]')
  const members = lines.map(line => {
    const [, key = '', value = ''] = /^(\w+) = (.+)$/.exec(line) ?? []
    return [key, JSON.parse(value.replace(/^\{ (\w+) = (.*) \}$/, '{"$1":$2}'))]
  })
  return Object.fromEntries(members)
}

const members: Readonly<Record<string, (text: string) => Server>> = {
  'claude-code': text => JSON.parse(text).mcpServers.farebox,
  'claude-desktop': text => JSON.parse(text).mcpServers.farebox,
  vscode: text => JSON.parse(text).servers.farebox,
  cursor: text => JSON.parse(text).mcpServers.farebox,
  codex: tableOf,
  gemini: text => JSON.parse(text).mcpServers.farebox,
  zed: text => JSON.parse(text).context_servers.farebox,
}

const env = { FAREBOX_API_KEY: canaryApiKey, FAREBOX_WALLET_KEY: canaryEvmKey, FAREBOX_SOLANA_RPC_URL: canaryApiKey }

test.each(assistantClients)(
  '$name: its configuration can be read, starts this farebox, and holds no key',
  async ({ name }) => {
    const { code, stdout, stderr } = await runCommand(['mcp', '--print-config', name], env)
    expect(code).toBe(0)
    const server = members[name]?.(stdout)
    expect(server).toMatchObject({
      command: 'node',
      args: [resolve('farebox.mjs'), 'mcp'],
      env: { FAREBOX_BASE_URL: expect.stringMatching(/^https:\/\/.*\/api\/v1$/) },
    })
    expect(server?.env_vars?.[0] ?? server?.env.FAREBOX_API_KEY).toMatch(
      /^(\$\{?(env:|input:)?)?farebox_api_key(:-)?\}?$|^WRITE THE API KEY HERE/i,
    )
    expect(stderr).toMatch(/^Put this into \S+/)
    expect(mcp.usage).toContain(name)
    expect(`${stdout}${stderr}`).not.toMatch(new RegExp(`${canaryApiKey}|${canaryEvmKey}`))
  },
)

test('a placeholder that a client leaves as it is counts as no key', async () => {
  for (const { name } of assistantClients) {
    const { stdout } = await runCommand(['mcp', '--print-config', name], env)
    const { FAREBOX_API_KEY = '' } = members[name]?.(stdout)?.env ?? {}
    // VS Code always asks, and Claude Code fills in nothing where there is nothing.
    const left = FAREBOX_API_KEY.replace(/\$\{(input:.*|.*:-)\}/, '')
    expect(filledIn({ FAREBOX_API_KEY: left })).toEqual({})
  }
})

test('what the server has to be given stands among its arguments, with whole paths', async () => {
  const flags = ['--tools', 'chat', '--data', 'w', '--passphrase-file', 'p']
  const { stdout } = await runCommand(['mcp', '--print-config', 'zed', ...flags])
  const carried = ['--tools', 'chat', '--data', resolve('w'), '--passphrase-file', resolve('p')]
  expect(members.zed?.(stdout).args.slice(1)).toEqual(['mcp', ...carried])
})

test('a client that is not known is wrong usage, told with those that are', async () => {
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
  for (const { name } of assistantClients) {
    const { stdout, stderr } = await runCommand(['mcp', '--print-config', name], { FAREBOX_BASE_URL: given })
    expect(members[name]?.(stdout).env.FAREBOX_BASE_URL).toBe(written)
    expect(stderr).not.toContain('secret')
  }
})
