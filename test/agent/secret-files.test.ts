/** No tool reads or replaces a file that holds keys or passphrases, whatever folders are allowed. */
import { link, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { Files } from '#agent/media/files.ts'
import { isHiddenName, isSecretName, ReadableFiles } from '#agent/media/readable-files.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { temporaryFolder } from './open-agent.ts'

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')

/** A project in which `farebox up` runs, and which is also the output folder. */
const project = temporaryFolder()
const state = join(project, '.farebox', 'agent')
const plainData = join(project, 'data')
const elsewhere = temporaryFolder()
const files = new Files({ output: project, inputs: [], state, secrets: [join(project, 'token-of-a-variable')] })

const secrets = [
  '.env',
  '.env.production',
  '.npmrc',
  '.git/config',
  '.farebox/service/secret',
  '.farebox/service/admin.json',
  '.farebox/chain/keys.json',
  '.farebox/agent/wallet.json',
  '.farebox/agent/agent.db',
  '.farebox/agent/mcp-token',
  // A data folder that is not hidden.
  'data/service/secret',
  'data/service/notes.txt',
  'data/chain/keys.json',
  'data/agent/wallet.json',
  'data/anything.txt',
  'prod.env',
  'PROD.ENV',
  'wallet.json',
  'WALLET.JSON',
  'passphrase',
  'my-passphrase.txt',
  'passwords.csv',
  'secret',
  'client_secret.json',
  'credentials.json',
  'server.key',
  'id_ed25519',
  'token-of-a-variable',
  'api_keys.txt',
  'api-key.txt',
  'apikey.txt',
  'apiKey.txt',
  'APIKEY2.txt',
  'github-token.txt',
  'access_token.txt',
  'accessToken.txt',
  'aws-keys.csv',
  'seed.txt',
  'my-seed.md',
  'recovery-phrase.txt',
  'recovery_words.txt',
  'backup-codes.txt',
  'keypair.json',
  'solana-keypair.json',
  'id.json',
  'id.txt',
  'keystore-1.json',
  'keystore-1.txt',
  'UTC--2026-11-23T09-00-00.000Z--0123456789abcdef0123456789abcdef01234567',
  'utc--2026-11-23.txt',
  'wallet-backup.json',
  'wallet-backup.txt',
  'prod.env.bak',
  'prod.env.txt',
  'config.env.local',
  // No document: settings and programs hold keys under any name.
  'settings.json',
  'config.yaml',
  'deploy.sh',
  'without-ending',
]

beforeAll(async () => {
  for (const path of [...secrets, ...documents]) {
    await mkdir(dirname(join(project, path)), { recursive: true })
    await writeFile(join(project, path), `content of ${path}`)
  }
  await writeFile(join(project, 'the-secret.png'), png)
  await mkdir(join(plainData, 'output'))
  await writeFile(join(plainData, 'output', 'made.png'), png)
})

const document = (source: string) => files.asFormFile(source, 'document')

test.each(secrets)('%s is not read in an output folder that is the project', async path => {
  await expect(document(path)).rejects.toBeInstanceOf(ToolFailure)
  await expect(document(join(project, path))).rejects.toBeInstanceOf(ToolFailure)
})

const documents = ['plain.txt', 'docs/notes.txt', 'keyboard.md', 'REPORT.PDF', 'tokenizer.html', 'reseeding.csv']

test.each(documents)('%s is read', async path => {
  expect(await (await document(path)).text()).toBe(`content of ${path}`)
})

test('a document is read below a folder with a colon, as every one on Windows is', { tags: ['posix'] }, async () => {
  await mkdir(join(project, 'C:'))
  await writeFile(join(project, 'C:', 'notes.txt'), 'content')
  expect(await (await document('C:/notes.txt')).text()).toBe('content')
  await rm(join(project, 'C:'), { recursive: true })
})

test('an image is an image, whatever its name', async () => {
  expect(await files.asMediaUrl('the-secret.png', 'image')).toContain('data:image/png')
})

test('the output folder of a data folder is read', async () => {
  const own = new Files({ output: join(plainData, 'output'), inputs: [], state: join(plainData, 'agent') })
  expect(await own.asMediaUrl('made.png', 'image')).toContain('data:image/png')
  await expect(own.asFormFile('../service/secret', 'document')).rejects.toThrow('tools may read')
})

test.each(['.farebox/agent/wallet.json', '.env', 'plain.txt'])('a hard link to %s is not read', async path => {
  const name = `linked-${path.replaceAll(/\W/g, '')}.txt`
  await link(join(project, path), join(project, name))
  await expect(document(name)).rejects.toThrow(/hard link/)
  await rm(join(project, name))
})

test.each(['.farebox/agent/wallet.json', '.farebox', 'data'])('a symbolic link to %s is not followed', async path => {
  await symlink(join(project, path), join(project, 'linked'))
  for (const name of ['linked', 'linked/service/secret', 'linked/agent/wallet.json'])
    await expect(document(name)).rejects.toBeInstanceOf(ToolFailure)
  await rm(join(project, 'linked'))
})

test('the folder of keys is denied by what it is, under another name of its path', async () => {
  // As a case-insensitive disk or a bind mount shows it: the same folder, written otherwise.
  const hidden = join(elsewhere, 'kept')
  await mkdir(join(hidden, 'inside'), { recursive: true })
  await writeFile(join(hidden, 'inside', 'x.txt'), 'x')
  await symlink(hidden, join(elsewhere, 'KEPT'))
  const other = new Files({ output: elsewhere, inputs: [], state: join(elsewhere, 'KEPT') })
  await expect(other.asFormFile('kept/inside/x.txt', 'document')).rejects.toThrow('tools may read')
})

test('a secret that was moved into an allowed folder while a variable names it is not read', async () => {
  const named = join(elsewhere, 'of-a-variable')
  await writeFile(named, 'a token')
  await rename(named, join(project, 'harmless.txt'))
  const other = new Files({ output: project, inputs: [], state, secrets: [join(project, 'harmless.txt')] })
  await expect(other.asFormFile('harmless.txt', 'document')).rejects.toBeInstanceOf(ToolFailure)
  await rm(join(project, 'harmless.txt'))
})

test('a folder that is swapped for a link to secrets between the check and the opening is not read', async () => {
  const readable = new ReadableFiles({ output: project, inputs: [], state })
  const folder = join(project, 'swapped')
  await mkdir(folder)
  await writeFile(join(folder, 'notes.txt'), 'harmless')
  const path = await readable.pathOf(join(folder, 'notes.txt'))
  expect((await readable.read(path ?? '')).toString()).toBe('harmless')
  await rename(folder, join(project, 'away'))
  await symlink(join(project, 'data', 'service'), folder)
  await expect(readable.read(path ?? '')).rejects.toBeInstanceOf(ToolFailure)
})

test.each(['.env', 'wallet', '../../wallet.json', 'secret', 'keys.json', ''])(
  'a text that is saved as %j replaces no file that is there',
  async name => {
    const before = await Promise.all(secrets.map(path => readFile(join(project, path), 'utf8').catch(() => '')))
    for (const type of ['text/plain', 'application/json'] as const) {
      const saved = await files.saveText('of a model', name, type)
      expect(dirname(saved.path)).toBe(project)
    }
    expect(await Promise.all(secrets.map(path => readFile(join(project, path), 'utf8').catch(() => '')))).toEqual(
      before,
    )
  },
)

test.each(['.ENV', '․env', '.env ', '.env.', '．env'])('%j is hidden', name => {
  expect(isHiddenName(name)).toBe(true)
})
test.each(['wallet.json::$DATA', 'Wallet.json.', 'ＷＡＬＬＥＴ.json', 'id_rsa.old', 'db-password.txt'])(
  '%j is secret',
  name => {
    expect(isSecretName(name)).toBe(true)
  },
)
test.each([
  'secretary.txt',
  'keynote.pdf',
  'environment.txt',
  'a.envelope',
  'monkey.txt',
  'turkeys.txt',
  'Keynote.PDF',
  'backup.txt',
  'recovery.md',
])('%j is not', name => {
  expect(isSecretName(name)).toBe(false)
})

test.each([
  ['a share', (path: string) => `/${path}`],
  ['a device', (path: string) => `//./${path}`],
])(
  'on Windows, %s that has none of the folders is not looked up, because that would sign in to it',
  { tags: ['posix'] },
  async (_, asNetwork) => {
    // Another system takes the same path for one of its own disk, and finds the file.
    const path = asNetwork(join(project, 'plain.txt'))
    const onWindows = new ReadableFiles({ output: 'C:\\out', inputs: [project], state }, 'win32')
    expect(await onWindows.pathOf(path)).toBeNull()
    expect(
      await new ReadableFiles({ output: 'C:\\out', inputs: [project], state }, 'linux').pathOf(path),
    ).not.toBeNull()
    const onItsShare = new ReadableFiles({ output: path, inputs: [project], state }, 'win32')
    expect(await onItsShare.pathOf(path)).not.toBeNull()
  },
)
