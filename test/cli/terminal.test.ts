/** How results are printed: tables, colours and progress bars in a terminal, plain lines in a pipe, JSON for programs. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { commands } from '#cli/commands.ts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { createOutput } from '#cli/output.ts'
import { openProgress } from '#cli/show/progress.ts'
import { paintFor } from '#cli/show/style.ts'
import { tableLines } from '#cli/show/table.ts'
import { listing } from '#mcp/listing.generated.ts'
import { LineServer } from '../../bench/mcp/line-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { atTerminal, typedInto } from './at-terminal.ts'
import { runCommand } from './run-command.ts'

vi.setConfig({ testTimeout: 60_000 })

const root = fileURLToPath(new URL('../../', import.meta.url))
const launcher = join(root, 'bin/farebox.mjs')

let folder: string
beforeEach(() => {
  folder = temporaryFolder('terminal')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

/** What Node reads, TERM aside, to decide how many colours a terminal has. */
const colourNames = [
  'NO_COLOR',
  'FORCE_COLOR',
  'NODE_DISABLE_COLORS',
  'COLORTERM',
  'TERM_PROGRAM',
  'TMUX',
  'CI',
  'TEAMCITY_VERSION',
  'TF_BUILD',
  'AGENT_NAME',
]

const escapes = (text: string): boolean => stripVTControlCharacters(text) !== text

describe('colours', () => {
  const screen = (isTTY: boolean) =>
    Object.assign(new PassThrough(), { isTTY, getColorDepth: WriteStream.prototype.getColorDepth })

  test.each([
    ['a terminal has them', true, {}, true],
    ['a pipe has none', false, {}, false],
    ['NO_COLOR takes them away', true, { NO_COLOR: '1' }, false],
    ['a terminal that knows none has none', true, { TERM: 'dumb' }, false],
    ['FORCE_COLOR gives them to a pipe', false, { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0 takes them away', true, { FORCE_COLOR: '0' }, false],
  ])('%s', (_, isTTY, env, isColoured) => {
    for (const name of colourNames) vi.stubEnv(name, undefined)
    vi.stubEnv('TERM', 'xterm-256color')
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const output = createOutput(screen(isTTY), new PassThrough())
    expect(output.isColoured).toBe(isColoured)
    expect(escapes(paintFor(output)('bad', 'broken'))).toBe(isColoured)
  })

  test('the process prints none into a pipe unless forced', async () => {
    const env = { PATH: process.env.PATH, HOME: folder }
    const run = (more: NodeJS.ProcessEnv) =>
      promisify(execFile)(process.execPath, [launcher, '--help'], { env: { ...env, ...more } })
    const [plain, forced] = [(await run({})).stdout, (await run({ FORCE_COLOR: '1' })).stdout]
    expect(escapes(plain)).toBe(false)
    expect(escapes(forced)).toBe(true)
    expect(stripVTControlCharacters(forced)).toBe(plain)
  })
})

describe('tables', () => {
  const terminal = { isTerminal: true, isColoured: false, columns: 40 }
  const rows = [
    ['a', '1.00', '', 'short'],
    ['longer', '20.00', '', `words that are broken at the end, and 0x${'ab'.repeat(20)} that is not`],
  ]
  const table = { head: ['Name', 'USD', 'Empty', 'What'], rows, right: [1] }

  test('have headings, numbers on the right, and no empty columns', () => {
    const lines = tableLines(table, terminal)
    expect(lines.slice(0, 2)).toEqual(['Name      USD  What', 'a        1.00  short'])
    expect(lines[2]).toMatch(/^longer {2}20\.00 {2}words that are/)
    // An address that is cut in two cannot be copied.
    expect(lines.join('\n')).toContain(`0x${'ab'.repeat(20)}`)
    const told = lines.slice(2).map(line => line.slice(15).trim())
    expect(told.join(' ').replace('longer  20.00  ', '')).toBe(rows[1]?.[3])
  })

  test('are a row a line in a pipe, without heads and padding', () => {
    expect(tableLines(table, { ...terminal, isTerminal: false })).toEqual(
      rows.map(row => row.filter(Boolean).join('  ')),
    )
  })

  test('keep every character of other scripts', () => {
    const words = ['映画を作るモデル', 'نص', 'çınar 🎬']
    const lines = tableLines({ rows: words.map(word => ['x', word]) }, terminal)
    expect(lines.map(line => line.slice(1).trim())).toEqual(words)
  })
})

describe('commands on a terminal', () => {
  const columnsOf = (heads: string[], [head = '', ...rows]: string[]) => {
    const starts = heads.map(each => head.indexOf(each))
    expect(starts, head).not.toContain(-1)
    return rows.map(row => starts.map((start, at) => row.slice(start, starts[at + 1]).trim()))
  }

  test('call --list TOOL is a table of the parameters', async () => {
    const { stdout } = await typedInto(['call', '--list', 'image_create'], [], {})
    const lines = stdout.trimEnd().split('\n').slice(1)
    const rows = columnsOf(['Name', 'Type', 'Required', 'Allowed', 'Description'], lines)
    expect(rows[0]).toEqual(['model', 'string', 'required', '', expect.stringMatching(/^Of type image/)])
    expect(rows.find(([name]) => name === 'variants')).toEqual([
      'variants',
      'integer',
      '',
      '1 to 4',
      expect.any(String),
    ])
    expect(stdout).toContain('low, medium, high')
    expect(stdout).not.toMatch(/[{}"]/)
    const json = JSON.parse((await typedInto(['call', '--list', 'image_create', '--json'], [], {})).stdout)
    expect(json.inputSchema.properties.variants).toMatchObject({ type: 'integer', maximum: 4 })
  })

  test('the table of every tool names each parameter with its type', async () => {
    for (const { name, inputSchema } of listing.tools) {
      const { stdout } = await runCommand(['call', '--list', name])
      for (const key of Object.keys(inputSchema.properties ?? {}))
        expect(stdout, `${name}.${key}`).toMatch(
          new RegExp(`^${key} {2}(string|number|integer|boolean|object|list of \\w+)`, 'm'),
        )
    }
  })

  test('keys list, ledger balance and ledger audit are tables with the facts of --json', async () => {
    await folderSecrets(dataFolder(folder))
    const at = ['--data', folder]
    const created = JSON.parse(
      (await runCommand(['keys', 'create', '--usd', '2.5', '--label', 'laptop', '--json', ...at])).stdout,
    )
    const shown = async (...words: string[]) =>
      (await typedInto([...words, ...at], [], {})).stdout.trimEnd().split('\n')
    const [key] = columnsOf(['Id', 'Key', 'Customer', 'Created', 'State', 'Label'], await shown('keys', 'list'))
    expect(key).toEqual([
      created.keyId,
      expect.stringMatching(/^fb_\S+…$/),
      created.account,
      expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      'active',
      '"laptop"',
    ])
    const balance = await shown('ledger', 'balance', created.account)
    expect(balance[0]).toMatch(/^Account +Available USD +Posted +Held$/)
    expect(balance[1]).toMatch(new RegExp(`^${created.account} +2\\.500000 +2\\.500000 +0\\.000000$`))
    const audit = await shown('ledger', 'audit')
    expect(audit.find(line => line.startsWith('accounts'))).toMatch(/^accounts +\d+$/)
    expect(audit.at(-1)).toBe('The ledger adds up.')
  })

  test('wallet status is its facts under each other; in a pipe the same as `name: value`', async () => {
    const env = {
      FAREBOX_WALLET_KEY: '11'.repeat(32),
      FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1',
      FAREBOX_DATA: folder,
    }
    const piped = (await atTerminal(['status'], null, env)).stdout.trimEnd().split('\n')
    const shown = (await atTerminal(['status'], [], env)).stdout
    const flat = shown.replaceAll(/\s+/g, ' ')
    for (const fact of piped) {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/s.exec(fact) ?? []
      expect(flat).toContain(`${name} ${value}`.trim())
    }
    const at = shown
      .split('\n')
      .map(line => line.indexOf('http://127.0.0.1:9'))
      .find(each => each > 0)
    expect(shown.split('\n')[0]?.indexOf('0x')).toBe(at)
  })

  test('doctor marks each finding, and puts what to do on a line of its own', async () => {
    const env = { FAREBOX_DATA: folder, FAREBOX_BASE_URL: 'http://127.0.0.1:9/api/v1' }
    const { stdout, code } = await typedInto(['doctor', '--assistant'], [], env)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^✓ node +\d/m)
    expect(stdout).toMatch(/^✗ service +\S/m)
    expect(stdout).toMatch(/^ +→ Set/m)
    expect((await runCommand(['doctor', '--assistant'], env)).stdout).toMatch(/^ok node: .*\n[\s\S]*^!! service: /m)
  })
})

/** Why a line of usage takes no `--json`. */
const withoutJson: Readonly<Record<string, string>> = {
  'up …': 'takes it, as one event a line',
  'ledger export': 'prints CSV',
  'wallet approve': 'shows what is asked to a user at a terminal',
  'wallet open': 'opens a page for a user at a terminal',
  'wallet resolve': 'asks a user at a terminal',
  'wallet export': 'shows keys to a user at a terminal alone',
  'wallet passphrase': 'asks a user at a terminal',
  'wallet stop': 'does one thing, and its exit code tells',
  'wallet send': 'asks a user at a terminal',
  'mcp --print-config': 'prints the JSON or TOML that the client reads',
  completion: 'prints a script',
}

test('each command that prints facts has --json', async () => {
  const lines: string[] = []
  for (const { load } of commands) {
    const { usage } = await load()
    const [synopsis = ''] = usage.split('\n\n')
    lines.push(
      ...synopsis
        .replaceAll(/\n {15,}/g, ' ')
        .split('\n')
        .map(line => line.replace(/^(Usage:| ) */, '').trim()),
    )
  }
  expect(lines.length).toBeGreaterThan(30)
  const lacking = lines.filter(line => !line.includes('--json'))
  expect(lacking.filter(line => !Object.keys(withoutJson).some(each => line.startsWith(`farebox ${each}`)))).toEqual([])
})

describe('progress', () => {
  const screen = () => Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true, columns: 60 })
  const step = { message: 'Copying the ledger', done: 1, total: 4 }

  test('is a bar on a terminal, which is erased at the end', async () => {
    const stderr = screen()
    let drawn = ''
    const shown = () => {
      drawn += stderr.read() ?? ''
      return drawn
    }
    const progress = await openProgress(createOutput(new PassThrough(), stderr), 'Backing up')
    await expect.poll(shown).toContain('Backing up')
    progress.show(step)
    await expect.poll(shown).toContain('Copying the ledger')
    progress.end()
    shown()
    expect(drawn).toMatch(/██████░{18} 25 % {2}Copying the ledger/)
    // The line is cleared, and no line is begun.
    expect(drawn.slice(drawn.lastIndexOf('Copying'))).toMatch(/\[(0K|K|2K|J|0J)/)
    expect(drawn).not.toContain('\n')
    progress.show({ message: 'too late' })
    expect(stderr.read()).toBeNull()
  })

  test('is a line for each new message in a pipe, and not too many', async () => {
    const notes: string[] = []
    const progress = await openProgress({ drawing: null, note: line => notes.push(line) }, 'Backing up')
    for (let done = 0; done < 100; done++) progress.show({ ...step, done })
    progress.show({ message: 'at once after it' })
    expect(notes).toEqual(['Copying the ledger'])
  })
})

describe('farebox mcp', () => {
  test('explains itself in a terminal and how to connect it, only on stderr', async () => {
    const stopping = new AbortController()
    // Its last line; it listens for the signal right after it.
    const noted = (text: string) => void (text.includes('call --list') && setImmediate(() => stopping.abort()))
    const env = { FAREBOX_DATA: folder }
    const { stdout, stderr } = await typedInto(['mcp'], [], env, { signal: stopping.signal, noted })
    expect(stdout).toBe('')
    expect(stderr).toMatch(/MCP client/)
    expect(stderr).toMatch(/farebox\S* install CLIENT/)
  })

  test('starts, lists and calls without what draws tables, bars and colours', async () => {
    const refusing = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  if (/\\/(src\\/cli\\/show\\/|node_modules\\/(cli-table3|cli-progress|string-width)\\/)/.test(url)) throw new Error(url)
  return next(url, context)
} })`
    const hook = `data:text/javascript,${encodeURIComponent(refusing)}`
    const env = { PATH: process.env.PATH, HOME: folder, FAREBOX_DATA: folder }
    const server = new LineServer({
      name: 'farebox',
      program: process.execPath,
      args: ['--import', hook, launcher, 'mcp'],
      env,
    })
    try {
      await server.initialize()
      expect(await server.call('tools/list', {})).toMatchObject({ tools: expect.any(Array) })
      expect(await server.call('tools/call', { name: 'job_list', arguments: {} })).not.toMatchObject({ isError: true })
    } finally {
      await server.end()
    }
    // The hook is at work.
    const help = promisify(execFile)(process.execPath, ['--import', hook, launcher, '--help'], { env })
    await expect(help).rejects.toThrow(/show\/(style|table)/)
  })
})
