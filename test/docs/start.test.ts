/**
 * The pages in docs/start: every command and program in them runs as it is written, in a folder that stands for the
 * clone, and what a terminal shows is kept in `docs/start/recordings`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { assistant } from '../journeys/conversation.ts'
import { freePort } from '../postgres/cluster.ts'
import { blocksOf, commandsOf, root } from './pages.ts'

let folder = ''
let port = 0
let background: ChildProcess | undefined
let recording: string[] = []

/** A clone after `npm ci`, without a build. */
async function openClone() {
  folder = await mkdtemp(join(tmpdir(), 'farebox-start-'))
  for (const name of [
    'bin',
    'src',
    'tools',
    'prompts',
    'resources',
    'pages',
    'package.json',
    'node_modules',
    'openapi.yaml',
  ])
    await symlink(join(root, name), join(folder, name))
  port = await freePort()
  recording = []
}

afterEach(async () => {
  if (background?.pid && background.exitCode === null) {
    process.kill(-background.pid, 'SIGTERM')
    await once(background, 'close')
  }
  background = undefined
  await rm(folder, { recursive: true, force: true })
})

/** `npm ci` has run already; the port is one that is free. */
const asRun = (line: string): string | null =>
  line === 'npm ci'
    ? null
    : line.replace('npm start --', `npm start -- --port ${port}`).replaceAll('8402', String(port))

const environment = () => {
  const { PATH = '' } = process.env
  return {
    PATH: `${join(root, 'node_modules/.bin')}:${PATH}`,
    HOME: folder,
    TERM: 'xterm',
    COLUMNS: '110',
    LINES: '40',
    NO_COLOR: '1',
  }
}

/** One command in a terminal, which keeps the variables of those before it. */
async function type(line: string): Promise<void> {
  const command = asRun(line)
  if (command === null) return
  const variables = join(folder, '.variables')
  const lines = ['set -e', `if [ -f ${variables} ]; then . ${variables}; fi`, command, `declare -px > ${variables}`]
  const quoted = lines.join('\n').replaceAll("'", `'\\''`)
  // `script` is a terminal without a window.
  const child = spawn('script', ['-qec', `stty cols 110; bash -c '${quoted}'`, '/dev/null'], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const [code] = await once(child, 'close')
  const shown = onScreen(text)
  expect(code, `${line}\n${shown}`).toBe(0)
  recording.push(`$ ${line}\n${shown}`.trim())
  const configuration = join(folder, 'farebox.yaml')
  if (!existsSync(configuration)) return
  writeFileSync(configuration, readFileSync(configuration, 'utf8').replaceAll('8402', String(port)))
}

const esc = String.fromCharCode(27)
/** A line that was drawn anew: from its beginning, or whole. */
const cleared = new RegExp(`[^\\n]*(${esc}\\[1G${esc}\\[0K|${esc}\\[2?K)`, 'g')

/** What stays on the screen of what was drawn. */
const onScreen = (text: string): string =>
  stripVTControlCharacters(text.replaceAll(cleared, '')).replaceAll('\r', '').trim()

async function startInBackground(line: string): Promise<void> {
  const child = spawn('bash', ['-c', asRun(line) ?? ''], {
    cwd: folder,
    env: environment(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  background = child
  const started = line.includes('--install') ? /^ready [\s\S]*^Ask Cursor: .*$/m : /^ready .*$/m
  let text = ''
  const ready = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      text += chunk.toString()
      if (started.test(text)) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('close', code => reject(new Error(`${line} ended with ${code}: ${text}`)))
  })
  await ready
  recording.push(`$ ${line}\n${started.exec(text)?.[0]}`)
}

/** Runs a page from its first block to its last; `between` is called before each one. */
async function follow(
  page: string,
  between: (typed: readonly string[]) => Promise<void> = async () => {},
): Promise<string> {
  await openClone()
  for (const block of blocksOf(page)) {
    if (block.language === 'js') await writeFile(join(folder, block.info), block.text)
    else if (block.info === 'background') await startInBackground(block.text)
    else {
      const commands = commandsOf(block)
      await between(commands)
      for (const command of commands) await type(command)
    }
  }
  return recording.join('\n\n')
}

/** Names, times and addresses of this run, as they stand in the recording. */
const golden = (text: string): string =>
  `${text
    .replaceAll(folder, '~/farebox')
    .replaceAll(root, '~/farebox')
    .replaceAll(String(port), '8402')
    .replaceAll(/0x[0-9a-fA-F]{64}/g, '0x…')
    .replaceAll(/0x[0-9a-f]{8}…/g, '0x11111111…')
    .replaceAll(/0x[0-9a-fA-F]{40}/g, '0x1111111111111111111111111111111111111111')
    .replaceAll(/\b(?!EPj)[1-9A-HJ-NP-Za-km-z]{43,44}\b/g, '1'.repeat(44))
    .replaceAll(
      /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
      '0195f0d0-0000-7000-8000-000000000000',
    )
    .replaceAll(
      /\b(pay|job|ask|key|acc|fb|chatcmpl)([_-])[\w-]{8,}/g,
      (name, kind: string, line: string) => kind + line + 'x'.repeat(name.length - kind.length - 1),
    )
    .replaceAll(/\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d(\.\d+)?)?/g, '2026-11-24$112:00')
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, '2026-11-24')
    .replaceAll(/"created":\d+/g, '"created":1795521600')
    .replaceAll(/[ \t]+$/gm, '')}\n`

const recorded = (name: string) => `../../docs/start/recordings/${name}.txt`

test('the first run: the demonstration from its first line to its last', {
  timeout: 180_000,
  tags: ['linux'],
}, async () => {
  await openClone()
  await type('npm start -- --once')
  const text = recording.join('')
  expect(text).toContain('The demo is done.')
  // Whether an optional detector of faces is installed, and what a codec of this machine makes.
  const everywhere = golden(text)
    .replace(/(✓ consent +0\.\d+ USD {2})[^|]*?\n( +\|)/, '$1the user was shown\n$2')
    .replaceAll(/\.mp4\s+\(video\/mp4,\s+\d+ bytes\)/g, '.mp4 (video/mp4, 355677 bytes)')
    .replaceAll(/\d{8}-\d{4}-(demo-[\w-]+)-\w{6}\./g, '20261124-1200-$1-xxxxxx.')
  await expect(everywhere).toMatchFileSnapshot(recorded('first-run'))
})

test('an agent: a program calls a model, and its wallet pays', {
  timeout: 180_000,
  tags: ['linux', 'curl'],
}, async () => {
  const text = await follow('docs/start/agent.md')
  // The program of the README runs in the same folder.
  const [program] = blocksOf('README.md').filter(({ language }) => language === 'js')
  await writeFile(join(folder, 'readme.mjs'), `${program?.text}\nawait agent.close()\n`)
  await type('npx node -C farebox-source readme.mjs')
  expect(recording.at(-1)).toMatch(/This is demo-chat[\s\S]* 0\.0000\d+$/)
  expect(text).toMatch(/It costs at most 0\.\d+ USD\./)
  expect(text).toContain('This is demo-chat')
  expect(text).toMatch(/It cost 0\.\d+ USD; 4\.99\d* USD of credit is left\./)
  await expect(golden(text)).toMatchFileSnapshot(recorded('agent'))
})

test('a service: a model has an API that charges', { timeout: 180_000, tags: ['linux', 'curl'] }, async () => {
  const text = await follow('docs/start/service.md')
  expect(text).toContain('This is demo-chat')
  expect(text).toContain('The ledger adds up.')
  expect(text).toMatch(/4\.99/)
  await expect(golden(text)).toMatchFileSnapshot(recorded('service'))
})

test('an assistant: its wallet pays for an image', {
  timeout: 180_000,
  tags: ['linux', 'curl'],
}, async () => {
  const text = await follow('docs/start/assistant.md', async commands => {
    if (!commands.some(command => command.includes('wallet receipts'))) return
    const entry = JSON.parse(readFileSync(join(folder, '.cursor/mcp.json'), 'utf8')).mcpServers.farebox
    const client = await assistant(entry, {}, async () => ({ action: 'decline' }))
    const result = await client.callTool({
      name: 'image_create',
      arguments: { model: 'demo-image', prompt: 'A lighthouse at dusk' },
    })
    expect(result).toMatchObject({ structuredContent: { charged_usd: expect.any(Number) } })
    await client.close()
  })
  expect(text).toMatch(/top-up +5\.00 USD/)
  await expect(golden(text)).toMatchFileSnapshot(recorded('assistant'))
})
