import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { readSettings } from '#agent/settings/settings.ts'
import { dataFolderOf, nodesOf } from '#agent/settings/wallet-settings.ts'
import { manifest } from '../../scripts/generators/manifest.ts'

interface Manifest {
  server: { mcp_config: { env: Record<string, string> } }
  user_config: Record<string, { sensitive?: boolean }>
}

/** Settings that hold a secret, or lead to a node whose address has one in it. */
const secrets = ['FAREBOX_API_KEY', 'FAREBOX_SOLANA_KEY', 'FAREBOX_SOLANA_RPC_URL', 'FAREBOX_WALLET_KEY']

test('an installing client asks for every key that can pay, and hides what is secret', async () => {
  const { server, user_config } = JSON.parse(await manifest()) as Manifest
  const variables = Object.entries(server.mcp_config.env)
  const keyOf = (template: string) => /^\$\{user_config\.(\w+)\}$/.exec(template)?.[1] ?? ''
  const hidden = variables.filter(([, template]) => user_config[keyOf(template)]?.sensitive === true)
  expect(hidden.map(([name]) => name).sort()).toEqual(secrets)
})

test('each variable that it fills in is one that the server reads', async () => {
  const { server } = JSON.parse(await manifest()) as Manifest
  const plain = { FAREBOX_BASE_URL: 'ftp://x', FAREBOX_OUTPUT_DIR: '/x' }
  for (const name of Object.keys(server.mcp_config.env)) {
    const value = Object.hasOwn(plain, name) ? plain[name as keyof typeof plain] : '€'
    const { settings, problems } = readSettings({ [name]: value })
    const isRead =
      problems.length > 0 ||
      Object.values(settings).flat().includes(value) ||
      dataFolderOf(settings.env) === resolve(value) ||
      Object.values(nodesOf({ [name]: value })).includes(value)
    expect(isRead, name).toBe(true)
  }
})
