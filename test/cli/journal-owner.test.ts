import { linkSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { agentFromEnvironment } from '#agent/create-agent.ts'
import { createKeyFile, seal } from '#wallet/keys/key-file.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { secret, temporaryFolder } from '../wallet/sample-wallet.ts'
import { postgresStore } from '../wallet/test-store.ts'
import { atTerminal as run } from './at-terminal.ts'

const passphrase = canaryPassphrase
/** Every passphrase takes a third of a second of one core, and some tests take several. */
vi.setConfig({ testTimeout: 60_000 })
const service = 'http://127.0.0.1:9/api/v1'

/** The owner's folder, its encrypted wallet, and a question that its assistant has asked. */
async function ownersJournal(env: Record<string, string> = {}) {
  const folder = temporaryFolder()
  const { address } = await createKeyFile(folder, passphrase)
  const settings = { ...env, FAREBOX_DATA: folder, FAREBOX_BASE_URL: service }
  const agent = await agentFromEnvironment({ env: settings, passphrase })
  const answer = await agent.fetch(`${service}/paint`, { method: 'POST', body: 'a cat' })
  await agent.close()
  const [id = ''] = /ask_\w+/.exec(JSON.stringify(await answer.json())) ?? []
  const state = async () => {
    const { stdout } = await run(['status', '--json', '--data', folder], null, settings)
    return JSON.parse(stdout).approvals.some((approval: { id: string }) => approval.id === id) ? 'pending' : 'decided'
  }
  return { folder, address, id, env, state }
}

type Owners = Awaited<ReturnType<typeof ownersJournal>>

/** A key file that names the owner's address, and opens with another passphrase. */
async function forgeKeyFile(owners: Owners, folder: string): Promise<void> {
  const file = JSON.parse(readFileSync(join(owners.folder, 'wallet.json'), 'utf8'))
  const { name, logN, r, p } = file.derivation
  const clear = `farebox wallet-key 2 ${file.evmAddress} ${file.solanaAddress} ${file.isInKeychain} ${name} ${logN} ${r} ${p}`
  const cipher = await seal(Buffer.alloc(64, 7), clear, 'a passphrase of mine', file.derivation)
  writeFileSync(join(folder, 'wallet.json'), JSON.stringify({ ...file, cipher }), { mode: 0o600 })
}

const folders: [what: string, fill: (owners: Owners, folder: string) => Promise<unknown>][] = [
  ['an empty folder', async () => {}],
  ['a folder with a wallet of its own', (_, folder) => createKeyFile(folder, 'a passphrase of mine')],
  ["a key file that says the owner's address", forgeKeyFile],
]

/** What a program without the passphrase may try at a terminal of its own. */
async function expectGuarded(owners: Owners, folder: string): Promise<void> {
  const typed = ['yes', 'a passphrase of mine', 'a passphrase of mine']
  const at = (args: string[], answers = typed) => run([...args, '--data', folder], answers, owners.env)
  expect(await at(['approve', owners.id])).toMatchObject({ code: 1 })
  expect(await at(['open', '--no-browser'], typed.slice(1))).toMatchObject({ code: 1, stdout: '' })
  expect(await owners.state()).toBe('pending')
  expect(await at(['stop'])).toMatchObject({ code: 0 })
  expect(await at(['start'], typed.slice(1))).toMatchObject({ code: 1 })
  const ownStatus = await run(['status', '--data', owners.folder], null, owners.env)
  expect(ownStatus.stdout).toContain('stopped for all')
}

test.each(folders)('a second name for the journal is refused: a symbolic link in %s', async (_, fill) => {
  const owners = await ownersJournal()
  const folder = temporaryFolder()
  await fill(owners, folder)
  symlinkSync(join(owners.folder, 'agent.db'), join(folder, 'agent.db'))
  await expectGuarded(owners, folder)
})

test('a journal with a second name is not used at all, because each name has a log of its own', async () => {
  const owners = await ownersJournal()
  const folder = temporaryFolder()
  linkSync(join(owners.folder, 'agent.db'), join(folder, 'agent.db'))
  const refused = { code: 1, stderr: expect.stringContaining('a hard link') }
  expect(await run(['approve', owners.id, '--data', folder], ['yes'])).toMatchObject(refused)
  expect(await run(['status', '--data', owners.folder])).toMatchObject(refused)
  rmSync(join(folder, 'agent.db'))
  expect(await owners.state()).toBe('pending')
})

test('the refusal names the wallet whose owner decides', async () => {
  const owners = await ownersJournal()
  const folder = temporaryFolder()
  symlinkSync(join(owners.folder, 'agent.db'), join(folder, 'agent.db'))
  const { stderr } = await run(['approve', owners.id, '--data', folder], ['yes', passphrase])
  expect(stderr).toContain(owners.address)
  expect(stderr).toContain(folder)
})

test('its owner decides with the passphrase', async () => {
  const owners = await ownersJournal()
  const approved = await run(['approve', owners.id, '--data', owners.folder], ['yes', passphrase])
  expect(approved).toMatchObject({ code: 0 })
  expect(await owners.state()).toBe('decided')
})

test('a wallet that is created beside it cannot add a payee', async () => {
  const owners = await ownersJournal()
  const folder = temporaryFolder()
  symlinkSync(join(owners.folder, 'agent.db'), join(folder, 'agent.db'))
  const made = await run(
    ['create', '--service', service, '--data', folder],
    ['yes', 'a passphrase of mine', 'a passphrase of mine'],
  )
  expect(made).toMatchObject({ code: 1, stderr: expect.stringContaining(owners.address) })
})

test('a journal that no encrypted wallet has used takes a terminal alone', async () => {
  const folder = temporaryFolder()
  const env = { FAREBOX_DATA: folder, FAREBOX_BASE_URL: service, FAREBOX_WALLET_KEY: secret }
  const agent = await agentFromEnvironment({ env })
  const answer = await agent.fetch(`${service}/paint`, { method: 'POST', body: 'a cat' })
  await agent.close()
  const [id = ''] = /ask_\w+/.exec(JSON.stringify(await answer.json())) ?? []
  expect(await run(['approve', id], ['yes'], env)).toMatchObject({ code: 0 })
})

withPostgres('a journal in PostgreSQL', cluster => {
  test('is decided on with its owner’s passphrase alone', async () => {
    const store = await postgresStore(cluster)()
    onTestFinished(() => store.dispose())
    const owners = await ownersJournal({ FAREBOX_JOURNAL_URL: store.url })
    await expectGuarded(owners, temporaryFolder())
    const approve = ['approve', owners.id, '--data', owners.folder]
    expect(await run(approve, ['yes', passphrase], owners.env)).toMatchObject({ code: 0 })
  })
})
