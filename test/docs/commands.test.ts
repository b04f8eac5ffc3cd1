/** The commands and programs in documents: the subcommands, flags and imported names exist. */
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { describe, expect, test } from 'vitest'
import * as agent from '#agent/index.ts'
import { assistantClients } from '#cli/assistants/clients.ts'
import { commands } from '#cli/commands.ts'
import { synopsesOf } from '#cli/show/help.ts'
import * as contract from '#contract/index.ts'
import { listing } from '#mcp/listing.generated.ts'
import * as service from '#service/index.ts'
import * as toolkit from '#toolkit/index.ts'
import { runCommand } from '../cli/run-command.ts'
import { blocksOf, commandsOf, root } from './pages.ts'

const documents = globSync(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md', 'examples/README.md'], { cwd: root })
  .map(path => path.replaceAll('\\', '/'))
  .filter(path => !/docs\/(decisions|reference)\//.test(path))
  .sort()

const usages = new Map(
  await Promise.all(
    commands.map(async ({ name, load }) => {
      const { usage } = await load()
      const words = synopsesOf(name, usage).flatMap(synopsis => synopsis.words)
      const flags = new Set(usage.match(/(?<![\w-])--[a-z][a-z-]*/g))
      return [name, { words, flags: flags.add('--help') }] as const
    }),
  ),
)
const scripts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts as Record<string, string>

interface Shown {
  place: string
  line: string
}

/** The commands of farebox in blocks, and in the running text. */
const shown: Shown[] = documents.flatMap(place => {
  const text = readFileSync(join(root, place), 'utf8')
  const inBlocks = blocksOf(place).flatMap(block => (['sh', 'ini'].includes(block.language) ? commandsOf(block) : []))
  const inText = [...text.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = '']) => code)
  return [...inBlocks, ...inText].map(line => ({ place, line }))
})

/** `npm start -- FLAGS` is `farebox up FLAGS`. */
const ofFarebox = shown.flatMap(({ place, line }) =>
  [
    ...line
      .replace('npm start --', 'farebox up')
      // In a container that has the same name.
      .replace(/ farebox (?=farebox )/, ' ')
      .matchAll(/(?:^|[\s(])(?:farebox|(?:npx )?(?:node )?\S*bin\/farebox\.mjs) ([a-z][^|)#>]*)/g),
  ].map(([, words = '']) => ({ place, line, words: words.trim().split(/\s+/) })),
)

/** What follows the name where it is no command: a client's own command, and the first words of a signed statement. */
const notCommands: ReadonlySet<string> = new Set(['node', 'statement'])

/** What is wrong with a command; null if nothing is. */
function faultOf([command = '', ...rest]: readonly string[]): string | null {
  if (command === 'help' || notCommands.has(command)) return null
  const usage = usages.get(command)
  if (!usage) return `there is no command ${command}`
  const [word = ''] = rest
  const isWord = /^[a-z][a-z-]+$/.test(word)
  if (usage.words.length > 0 && isWord && !usage.words.includes(word)) return `${command} has no word ${word}`
  const flags = rest.filter(each => each.startsWith('--')).map(each => each.replace(/[=,.;:`…\]].*$/, ''))
  const unknown = flags.find(flag => flag !== '--' && !usage.flags.has(flag))
  if (unknown) return `${command} has no ${unknown}`
  const at = rest.indexOf('--install')
  const client = command === 'up' && at >= 0 ? rest[at + 1] : undefined
  if (client && client !== 'CLIENT' && !assistantClients.some(({ name }) => name === client))
    return `no client ${client}`
  if (command === 'call' && isWord && !listing.tools.some(({ name }) => name === word)) return `no tool ${word}`
  if (command === 'install' && isWord && !assistantClients.some(({ name }) => name === word)) return `no client ${word}`
  return null
}

test('the commands in documents have these words and flags', () => {
  expect(ofFarebox.length).toBeGreaterThan(150)
  const wrong = ofFarebox.flatMap(({ place, line, words }) => {
    const fault = faultOf(words)
    return fault === null ? [] : [`${place}: ${line}: ${fault}`]
  })
  expect(wrong).toEqual([])
})

test('a wrong one is found', () => {
  expect(faultOf(['wallte'])).toMatch(/no command/)
  expect(faultOf(['wallet', 'crate'])).toMatch(/no word/)
  expect(faultOf(['keys', 'create', '--eur'])).toMatch(/no --eur/)
  expect(faultOf(['call', 'chta'])).toMatch(/no tool/)
  expect(faultOf(['up', '--install', 'emacs'])).toMatch(/no client/)
})

test('each script of npm in documents is in package.json', () => {
  const named = shown.flatMap(({ place, line }) =>
    [...line.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => ({ place, name })),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ name }) => scripts[name] === undefined)).toEqual([])
})

test('parts of farebox.yaml in documents are settings of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-settings-'))
  const publicUrl = 'publicUrl: http://127.0.0.1:8402\n'
  const models = `models: [{ id: m, type: text, contextTokens: 1024, price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }, upstreams: [{ engine: demo }] }]
`
  const variables = {
    BASE_RPC_URL: 'http://127.0.0.1:8545',
    FAREBOX_EVM_KEY: `0x${'11'.repeat(32)}`,
    CDP_API_KEY_ID: 'id',
    // The first example of RFC 8032.
    CDP_API_KEY_SECRET: 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==',
  }
  const check = async (text: string) => {
    await writeFile(join(folder, 'farebox.yaml'), publicUrl + (text.startsWith('models:') ? '' : models) + text)
    return (await runCommand(['serve', '--check', '--config', join(folder, 'farebox.yaml')], variables)).stderr
  }
  try {
    const parts = documents.flatMap(place => blocksOf(place).filter(({ language }) => language === 'yaml'))
    expect(parts.length).toBeGreaterThan(0)
    for (const { text } of parts) expect(await check(text)).toBe('')
    expect(await check('trustedProxy: [10.0.0.0/8]')).toMatch(/trustedProxy: Unknown setting/)
  } finally {
    await rm(folder, { recursive: true })
  }
})

describe('programs in documents', () => {
  const doors: Record<string, object> = {
    farebox: agent,
    'farebox/contract': contract,
    'farebox/service': service,
    'farebox/toolkit': toolkit,
  }
  const programs = documents.flatMap(place =>
    blocksOf(place)
      .filter(({ language }) => /^(js|ts|mjs|javascript|typescript)$/.test(language))
      .map(({ text }, at) => [`${place} ${at + 1}`, text] as const),
  )

  test.each(programs)('%s can be read, and imports names that are there', (_, text) => {
    const { errors, program } = parseSync('program.ts', text)
    expect(errors).toEqual([])
    for (const statement of program.body) {
      if (statement.type !== 'ImportDeclaration' || !(statement.source.value in doors)) continue
      const names = statement.specifiers.flatMap(each =>
        each.type === 'ImportSpecifier' && each.importKind !== 'type' && 'name' in each.imported
          ? [each.imported.name]
          : [],
      )
      expect(Object.keys(doors[statement.source.value] ?? {})).toEqual(expect.arrayContaining(names))
    }
  })
})
