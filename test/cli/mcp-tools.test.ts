import { expect, test } from 'vitest'
import { runCommand } from './run-command.ts'

async function printed(env: NodeJS.ProcessEnv, ...flags: string[]) {
  const { code, stdout } = await runCommand(['mcp', '--print-tools', ...flags], env)
  expect(code).toBe(0)
  const { listing, sha256 } = JSON.parse(stdout)
  const names = (rows: { name: string }[]) => rows.map(({ name }) => name)
  return { sha256, tools: names(listing.tools), prompts: names(listing.prompts), resources: names(listing.resources) }
}

test('a set is what is printed, and served, with the prompts and resources that it can carry', async () => {
  const wallet = await printed({}, '--tools', 'wallet')
  expect(wallet).toMatchObject({
    tools: ['wallet_receipts', 'wallet_status', 'wallet_top_up'],
    prompts: [],
    resources: ['app_approval', 'app_spending', 'media', 'policy', 'receipts'],
  })
  expect(await printed({ FAREBOX_TOOLS: ' wallet ' })).toEqual(wallet)
  expect((await printed({})).sha256).not.toBe(wallet.sha256)
})

test('the flag comes before the environment', async () => {
  expect((await printed({ FAREBOX_TOOLS: 'wallet' }, '--tools', 'limits')).tools).toEqual(['limits'])
})

test('an unknown word is wrong usage, and the error lists the sets and tools', async () => {
  const end = await runCommand(['mcp', '--tools', 'core,hologram'])
  expect(end).toMatchObject({ code: 2, stdout: '' })
  expect(end.stderr).toMatch(
    /`hologram` is neither a tool nor a set; the sets are core, wallet, .*the tools .*\bchat, /,
  )
})
