import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parse as parseJsonc } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { beforeEach, describe, expect, test } from 'vitest'
import { type AssistantClient, assistantClients } from '#cli/assistants/clients.ts'
import { canaryApiKey, canaryEvmKey } from '../canary/canaries.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { runCommand } from './run-command.ts'

let home: string
beforeEach(() => {
  home = temporaryFolder('install')
})

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runCommand(['install', ...args], {
    HOME: home,
    FAREBOX_API_KEY: canaryApiKey,
    FAREBOX_WALLET_KEY: canaryEvmKey,
    ...env,
  })

const fileOf = (client: AssistantClient): string => client.files({ platform: process.platform, env: { HOME: home } })[0]

function put(path: string, text: string, mode = 0o640): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, mode)
}

const read = (path: string): string => readFileSync(path, 'utf8')

function serversIn(client: AssistantClient, text: string): Record<string, unknown> {
  const errors: never[] = []
  const whole = client.format === 'TOML' ? parseToml(text) : parseJsonc(text, errors, { allowTrailingComma: true })
  expect(errors).toEqual([])
  return whole[client.keys[0]]
}

const isToml = ({ format }: AssistantClient) => format === 'TOML'
const launcher = resolve('farebox.mjs')

/** The words that start the server, in whichever member a client keeps them. */
const startOf = (entry: unknown): unknown[] => {
  const { command, args } = entry as { command: unknown; args?: unknown }
  return [command, args ?? []].flat()
}

const secret = 'sk-of-another-server'

/** Files that users have, with another server and a secret of it; the name of the list is the client's. */
const files: Record<string, (list: string) => { json: string; toml: string }> = {
  'an empty file': () => ({ json: '', toml: '' }),
  'an empty object': () => ({ json: '{}\n', toml: '\n' }),
  'an empty list of servers': list => ({ json: `{\n  "${list}": {}\n}`, toml: `[${list}]\n` }),
  'other settings and no server': () => ({
    json: '{\n\t"theme": "dark"\n}\n',
    toml: 'model = "x"\n\n[projects."/home"]\ntrusted = true\n',
  }),
  'another server, with comments': list => ({
    json: `// mine\n{\n    "${list}": {\n        /* a */ "other": { "command": "x", "env": { "KEY": "${secret}" } } // why\n    },\n    "z": [1,2,   3],\n}\n`,
    toml: `# mine\n[${list}.other]\ncommand = 'x' # why\nenv = { KEY = "${secret}" }\n\n# of the next\n[tools]\nweb = true\n`,
  }),
  'lines of Windows, and a mark of the encoding': list => ({
    json: `\uFEFF{\r\n  "${list}": {\r\n    "other": {}\r\n  }\r\n}\r\n`,
    toml: `\uFEFF[${list}.other]\r\ncommand = "x"\r\n`,
  }),
  'a server in one line': list => ({
    json: `{"${list}":{"other":{"command":"${secret}"}},"z":1}`,
    toml: `[${list}]\nother = { command = "${secret}" }`,
  }),
}

describe.each(assistantClients)('$name', client => {
  test.each(Object.keys(files))(
    '%s: the entry is added, all else stays, and is there again after --uninstall',
    async name => {
      const path = fileOf(client)
      const old = files[name]?.(client.keys[0])[isToml(client) ? 'toml' : 'json'] ?? ''
      put(path, old)
      const added = await run([client.name, '--yes', '--service', 'https://x.example/api/v1'])
      expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('farebox added') })
      expect(added.stdout + added.stderr).not.toContain(secret)
      const text = read(path)
      const { farebox, ...others } = serversIn(client, text.replace(/^\uFEFF/, ''))
      expect(startOf(farebox)).toEqual(['node', launcher, 'mcp'])
      expect(JSON.stringify(farebox)).toContain('"FAREBOX_BASE_URL":"https://x.example/api/v1"')
      expect(others).toEqual(old.trim() === '' ? {} : (serversIn(client, old.replace(/^\uFEFF/, '')) ?? {}))
      for (const line of old.split('\n').filter(each => /\/\/|#|\/\*|\d, {3}/.test(each)))
        expect(text.replace(/,(?= \/\/)/, '')).toContain(line.trimEnd())
      expect(statSync(path).mode & 0o777).toBe(0o640)
      expect(read(`${path}.before-farebox`)).toBe(old)
      expect(text).not.toMatch(/(?<!\r)\n.*\r\n|\r\n.*(?<!\r)\n/)

      expect(await run([client.name, '--yes', '--service', 'https://x.example/api/v1'])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('already'),
      })
      expect(await run([client.name, '--uninstall', '--yes'])).toMatchObject({ code: 0 })
      expect(read(path)).toBe(old)
      expect(readdirSync(dirname(path))).toEqual([path.slice(dirname(path).length + 1)])
    },
  )

  test('no file: it is made for its user alone, and --uninstall leaves none', async () => {
    expect(await run([client.name, '--yes'])).toMatchObject({ code: 0 })
    expect(statSync(fileOf(client)).mode & 0o777).toBe(0o600)
    expect(startOf(serversIn(client, read(fileOf(client))).farebox)).toEqual(['node', launcher, 'mcp'])
    expect(await run([client.name, '--uninstall', '--yes'])).toMatchObject({ code: 0 })
    expect(existsSync(fileOf(client))).toBe(false)
  })

  test('an entry of an older place is updated, with what the user has added to it', async () => {
    const path = fileOf(client)
    await run([client.name, '--yes', '--set', 'FAREBOX_MAX_DAY_USD=3', '--tools', 'chat'])
    const moved = read(path).replaceAll(launcher, '/old/bin/farebox.mjs')
    put(path, isToml(client) ? moved.replace('command =', 'startup_timeout_sec = 9\ncommand =') : moved)
    const updated = await run([client.name, '--yes'])
    expect(updated.stdout).toContain('farebox updated')
    const { farebox } = serversIn(client, read(path))
    expect(startOf(farebox)).toEqual(['node', launcher, 'mcp'])
    expect(JSON.stringify(farebox)).toContain('"FAREBOX_MAX_DAY_USD":"3"')
    if (isToml(client)) expect(farebox).toMatchObject({ startup_timeout_sec: 9 })
    expect(read(`${path}.with-farebox`)).toContain('/old/bin/farebox.mjs')
  })

  test('another server with our name is neither changed nor removed', async () => {
    const path = fileOf(client)
    const old = isToml(client)
      ? `[${client.keys[0]}.farebox]\nurl = "http://127.0.0.1:8404/mcp"\n`
      : `{"${client.keys[0]}": {"farebox": {"url": "http://127.0.0.1:8404/mcp"}}}`
    put(path, old)
    for (const args of [[], ['--uninstall']]) {
      const end = await run([client.name, '--yes', ...args])
      expect(end).toMatchObject({ code: 1, stderr: expect.stringMatching(/another server.*Rename or remove it/) })
    }
    expect(read(path)).toBe(old)
  })

  test('a broken file is left as it is, and the error names it and its line', async () => {
    const path = fileOf(client)
    const broken = isToml(client) ? 'a = 1\nb = = 2\n' : '{\n  "a": 1\n  "b": 2\n}\n'
    put(path, broken)
    for (const args of [['--yes'], ['--uninstall', '--yes'], ['--print']]) {
      const end = await run([client.name, ...args])
      expect(end.code).toBe(1)
      expect(end.stderr).toMatch(new RegExp(`${path}, line ${isToml(client) ? 2 : 3}: .*Correct it`))
    }
    expect(read(path)).toBe(broken)
    expect(readdirSync(dirname(path))).toHaveLength(1)
    const listed = await run(['--json'])
    expect(JSON.parse(listed.stdout).clients).toContainEqual(
      expect.objectContaining({ client: client.name, installed: null }),
    )
  })

  test('--print shows the entry and writes nothing; a program that cannot be asked writes nothing either', async () => {
    const printed = await run([client.name, '--print'])
    expect(printed).toMatchObject({ code: 0, stdout: expect.stringContaining(launcher) })
    expect(await run([client.name])).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(readdirSync(home)).toEqual([])
  })

  test('no key of the environment is written, shown or put into a command or a link', async () => {
    for (const args of [
      ['--yes'],
      ['--print'],
      ['--yes', '--json'],
      ['--yes', '--api-key'],
      ['--print', '--api-key'],
    ]) {
      const { stdout, stderr } = await run([client.name, ...args])
      expect(stdout + stderr).not.toMatch(new RegExp(`${canaryApiKey}|${canaryEvmKey}`))
    }
    expect(read(fileOf(client))).not.toMatch(new RegExp(`${canaryApiKey}|${canaryEvmKey}`))
  })

  test('with --api-key the client fills in the key, and a client that cannot is refused', async () => {
    const end = await run([client.name, '--yes', '--api-key'])
    if (client.apiKey === null) {
      expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining('wallet create') })
      return
    }
    expect(read(fileOf(client))).toContain(client.apiKey)
    if (client.input) expect(read(fileOf(client))).toContain(`"id": "${client.input.item.id}"`)
    await run([client.name, '--uninstall', '--yes'])
    expect(existsSync(fileOf(client))).toBe(false)
  })
})

test('a server that was added meanwhile stays, where ours is removed', async () => {
  const path = join(home, '.cursor/mcp.json')
  await run(['cursor', '--yes'])
  put(path, read(path).replace('"mcpServers": {', '"mcpServers": {\n    "other": {"url": "http://x"}, // mine'))
  await run(['cursor', '--uninstall', '--yes'])
  expect(read(path)).toBe('{\n  "mcpServers": {\n    "other": {"url": "http://x"} // mine\n  }\n}\n')
})

test.each([
  ['"other": { "url": "http://x" } } }', '{ "mcpServers": {\n    // mine\n     "other": { "url": "http://x" } } }'],
  ['"z": 1 } }', '{ "mcpServers": {\n    // mine\n     "z": 1 } }'],
])('a comment before our entry hides nothing that follows it: %s', async (rest, left) => {
  const path = join(home, '.cursor/mcp.json')
  await run(['cursor', '--yes'])
  const ours = JSON.stringify(JSON.parse(read(path)).mcpServers.farebox)
  put(path, `{ "mcpServers": {\n    // mine\n    "farebox": ${ours}, ${rest}`)
  await run(['cursor', '--uninstall', '--yes'])
  expect(read(path)).toBe(left)
})

test.each([
  ['{ "mcpServers": { "z": 1, // mine\n    OURS } }', '{ "mcpServers": { "z": 1 // mine\n     } }'],
  ['{ "mcpServers": {\n  // "old": {\n  OURS\n} }', '{ "mcpServers": {\n  // "old": {\n} }'],
])('a comment before our entry, the last one, does not hide the end of the list: %s', async (text, left) => {
  const path = join(home, '.cursor/mcp.json')
  await run(['cursor', '--yes'])
  const ours = JSON.stringify(JSON.parse(read(path)).mcpServers.farebox)
  put(
    path,
    text.replace('OURS', () => `"farebox": ${ours}`),
  )
  await run(['cursor', '--uninstall', '--yes'])
  expect(read(path)).toBe(left)
})

test('a key that a user has written into our entry is not shown', async () => {
  for (const name of ['zed', 'codex']) {
    await run([name, '--yes', '--service', 'https://x.example/api/v1'])
    const { file } = JSON.parse((await run([name, '--print', '--json'])).stdout)
    const line =
      name === 'zed'
        ? '"FAREBOX_API_KEY": "sk-mine",\n"FAREBOX_BASE_URL"'
        : 'FAREBOX_API_KEY = "sk-mine"\nFAREBOX_BASE_URL'
    put(file, read(file).replace(name === 'zed' ? '"FAREBOX_BASE_URL"' : 'FAREBOX_BASE_URL', line))
    const { stdout, stderr } = await run([name, '--uninstall', '--print'])
    expect(stdout).toMatch(/FAREBOX_API_KEY"?( =|:) "…"/)
    expect(stdout + stderr).not.toContain('sk-mine')
  }
})

test('a link is followed and stays a link', async () => {
  const [path, target] = [join(home, '.cursor/mcp.json'), join(home, 'dotfiles/mcp.json')]
  put(target, '{}')
  mkdirSync(dirname(path))
  symlinkSync(target, path)
  expect(await run(['cursor', '--yes'])).toMatchObject({ code: 0 })
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(read(target)).toContain(launcher)
  expect(read(`${target}.before-farebox`)).toBe('{}')
})

test.each([
  ['a list in the place of the servers', '{"mcpServers": []}', /line 1: `mcpServers` is not an object/],
  ['a list alone', '\n[]', /line 2: its content is not an object/],
  ['a name twice', '{"mcpServers": {},\n"mcpServers": {}}', /line 2: `mcpServers` appears twice/],
  ['UTF-16', Buffer.from('{}', 'utf16le').toString('latin1'), /not an object|not valid/],
])('%s is not edited', async (_, text, sentence) => {
  const path = join(home, '.cursor/mcp.json')
  put(path, text)
  const end = await run(['cursor', '--yes'])
  expect(end).toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) })
  expect(read(path)).toBe(text)
})

test('a list of servers within one line of TOML is not edited', async () => {
  const path = join(home, '.codex/config.toml')
  put(path, 'mcp_servers = { a = { command = "x" } }\n')
  expect(await run(['codex', '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('line 1: `mcp_servers`'),
  })
})

test.each([
  [['emacs'], /the clients are claude-code/],
  [['--yes'], /client is missing/],
  [['cursor', '--yes', '--print'], /Use either `--yes` or `--print`, not both/],
  [['cursor', '--uninstall', '--yes', '--service', 'https://x.example/api/v1'], /cannot be combined with `--service`/],
  [['cursor', '--uninstall', '--yes', '--set', 'FAREBOX_MAX_DAY_USD=1'], /cannot be combined with `--set`/],
  [['cursor', '--json'], /`--yes` or `--print`/],
  [['cursor', '--local', '.farebox', '--data', 'x'], /leave out `--service` and `--data`/],
  [['cursor', '--set', 'FAREBOX_WALLET_KEY=1'], /does not accept FAREBOX_WALLET_KEY/],
  [['cursor', '--set', 'FAREBOX_MAX_DAY_USD=much'], /FAREBOX_MAX_DAY_USD is `much`, which is not an amount/],
  [['cursor', '--service', 'https://me:secret@x.example'], /`--service` is not the address/],
])('%j is wrong usage', async (args, sentence) => {
  const end = await run(args)
  expect(end).toMatchObject({ code: 2, stderr: expect.stringMatching(sentence) })
  expect(end.stderr).not.toContain('secret')
  expect(readdirSync(home)).toEqual([])
})

test('the wallet is made in the conversation, or by a command for the same service and folder', async () => {
  const local = await run(['cursor', '--yes', '--service', 'http://127.0.0.1:9/api/v1'])
  expect(local.stderr).toMatch(/a page on this machine creates one\.$/m)
  const service = 'https://x.example/api/v1'
  const data = join(home, 'wallet')
  const { stderr } = await run(['codex', '--yes', '--service', service, '--data', data])
  expect(stderr).toContain(`wallet create --service ${service} --data ${data}\`.`)
})

test('without a client it lists all, which of them are here, and which have farebox', async () => {
  mkdirSync(join(home, '.cursor'))
  await run(['codex', '--yes'])
  const { clients } = JSON.parse((await run(['--json'])).stdout)
  expect(clients.map(({ client }: { client: string }) => client)).toEqual(assistantClients.map(({ name }) => name))
  const stateOf = (name: string) => clients.find(({ client }: { client: string }) => client === name)
  expect(stateOf('cursor')).toMatchObject({ found: true, installed: false, file: join(home, '.cursor/mcp.json') })
  expect(stateOf('codex')).toMatchObject({ found: true, installed: true })
  expect(stateOf('zed')).toMatchObject({ found: false, installed: false })
  expect((await run([])).stdout).toMatch(/^codex +found +installed +\S+config\.toml$/m)
})

const [mac, windows] = [
  { platform: 'darwin', env: { HOME: '/Users/me' } },
  { platform: 'win32', env: { USERPROFILE: 'C:\\Users\\me', APPDATA: 'D:\\Roaming' } },
] as const

test.each([
  ['claude-code', '/Users/me/.claude.json', 'C:\\Users\\me\\.claude.json'],
  [
    'claude-desktop',
    '/Users/me/Library/Application Support/Claude/claude_desktop_config.json',
    'D:\\Roaming\\Claude\\claude_desktop_config.json',
  ],
  ['vscode', '/Users/me/Library/Application Support/Code/User/mcp.json', 'D:\\Roaming\\Code\\User\\mcp.json'],
  ['cursor', '/Users/me/.cursor/mcp.json', 'C:\\Users\\me\\.cursor\\mcp.json'],
  ['codex', '/Users/me/.codex/config.toml', 'C:\\Users\\me\\.codex\\config.toml'],
  ['gemini', '/Users/me/.gemini/settings.json', 'C:\\Users\\me\\.gemini\\settings.json'],
  ['antigravity', '/Users/me/.gemini/config/mcp_config.json', 'C:\\Users\\me\\.gemini\\config\\mcp_config.json'],
  ['zed', '/Users/me/.config/zed/settings.json', 'D:\\Roaming\\Zed\\settings.json'],
  ['devin', '/Users/me/.config/devin/mcp_config.json', 'D:\\Roaming\\devin\\mcp_config.json'],
  [
    'cline',
    '/Users/me/.cline/data/settings/cline_mcp_settings.json',
    'C:\\Users\\me\\.cline\\data\\settings\\cline_mcp_settings.json',
  ],
  ['copilot', '/Users/me/.copilot/mcp-config.json', 'C:\\Users\\me\\.copilot\\mcp-config.json'],
  ['opencode', '/Users/me/.config/opencode/opencode.jsonc', 'C:\\Users\\me\\.config\\opencode\\opencode.jsonc'],
])('the configuration of %s on macOS and Windows', (name, onMac, onWindows) => {
  const client = assistantClients.find(each => each.name === name)
  expect([client?.files(mac)[0], client?.files(windows)[0]]).toEqual([onMac, onWindows])
})

test.each([
  ['claude-code', 'CLAUDE_CONFIG_DIR', '.claude.json'],
  ['codex', 'CODEX_HOME', 'config.toml'],
  ['gemini', 'GEMINI_CLI_HOME', '.gemini/settings.json'],
  ['copilot', 'COPILOT_HOME', 'mcp-config.json'],
  ['opencode', 'XDG_CONFIG_HOME', 'opencode/opencode.jsonc'],
  ['zed', 'XDG_CONFIG_HOME', 'zed/settings.json'],
  ['cline', 'CLINE_DIR', 'data/settings/cline_mcp_settings.json'],
])('%s: %s is honoured', async (name, variable, file) => {
  const folder = join(home, 'elsewhere')
  expect(await run([name, '--yes'], { [variable]: folder })).toMatchObject({ code: 0 })
  expect(existsSync(join(folder, file))).toBe(true)
})

const packages = 'C:\\Users\\me\\AppData\\Local\\Packages'
const claude = assistantClients.find(({ name }) => name === 'claude-desktop')

test.each([
  ['without one', [], []],
  ['beside others', ['Claude_abc123', 'Claudette_x', 'Microsoft.Paint_8wekyb3d8bbwe'], ['Claude_abc123']],
])('a packaged Claude Desktop on Windows has its settings in its package: %s', (_, names, ours) => {
  const namesIn = (folder: string) => (folder === packages ? names : [])
  const files = claude?.files({ ...windows, namesIn })
  const inPackage = ours.map(name => `${packages}\\${name}\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json`)
  expect([...new Set(files)]).toEqual([...inPackage, 'D:\\Roaming\\Claude\\claude_desktop_config.json'])
  const found = claude?.signs({ ...windows, namesIn }).folders
  expect(found).toHaveLength(ours.length + 1)
  expect(claude?.files({ ...mac, namesIn })[0]).toContain('/Library/')
})

test('where Windows has no packages, the usual file is used', () => {
  const env = { USERPROFILE: 'C:\\Users\\me', LOCALAPPDATA: 'L:\\' }
  const namesIn = () => {
    throw Object.assign(new Error('no such folder'), { code: 'ENOENT' })
  }
  expect(claude?.files({ platform: 'win32', env, namesIn })[0]).toBe(
    'C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
  )
})
