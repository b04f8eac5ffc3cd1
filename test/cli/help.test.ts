/** `farebox help`: each command and each of its subcommands, with examples that can be copied. */
import { describe, expect, test } from 'vitest'
import { commands } from '#cli/commands.ts'
import { examples, synopsesOf } from '#cli/show/help.ts'
import { runCommand } from './run-command.ts'

const helped = await Promise.all(
  commands.map(async ({ name, load }) => {
    const { usage } = await load()
    const synopses = synopsesOf(name, usage)
    return { name, usage, synopses, words: synopses.flatMap(({ words }) => words) }
  }),
)
const words = helped.flatMap(({ name, words }) => words.map(word => [name, word] as const))
const flagsIn = (text: string): string[] => text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []

test('a subcommand is explained by every form of help', async () => {
  const [one, other] = [await runCommand(['help', 'keys', 'list']), await runCommand(['keys', 'list', '--help'])]
  expect(one.stdout).toBe(other.stdout)
  expect(one.stdout).toBe(`Usage: farebox keys list [--account CUSTOMER] [--data DIR] [--json]

list shows ids, accounts and how each key begins.

  --account CUSTOMER  create another key for this customer, or list only this customer's keys
  --data DIR          the service's folder (the one in ./farebox.yaml, or .farebox)
  --json              print JSON

Example:

  List the keys:
    farebox keys list

Run \`farebox help keys\` for its other subcommands.
`)
})

test('a word of a command that it does not have gets the help of the command', async () => {
  const { stdout } = await runCommand(['help', 'keys', 'lsit'])
  expect(stdout).toContain('farebox keys create --usd N')
})

test('words are found behind a bar too', () => {
  expect(words.map(each => each.join(' '))).toEqual(
    expect.arrayContaining(['wallet approve', 'wallet deny', 'wallet move']),
  )
  expect(words.length).toBeGreaterThan(25)
})

test.each(words)('help %s %s says what it does, its own flags and an example', async (name, word) => {
  const { code, stdout } = await runCommand(['help', name, word])
  expect(code).toBe(0)
  const [synopsis = '', sentence = '', ...rest] = stdout.trim().split('\n\n')
  const own = synopsis.split('\n').join(' ')
  expect(own).toMatch(new RegExp(`farebox ${name} \\S*\\b${word}\\b`))
  expect(sentence).toMatch(/^\w(?!.* {2}).{15,}/s)
  expect(sentence).not.toMatch(/^(Examples?:|Usage)/)
  // Each flag of the synopsis is explained, and no other one.
  const explained = rest.filter(paragraph => paragraph.startsWith('  --') || /^ {2}[A-Z]{2}/.test(paragraph)).join('\n')
  for (const flag of flagsIn(own)) expect(explained, flag).toContain(`  ${flag}`)
  const rows = explained.split('\n').filter(line => /^ {2}--/.test(line))
  if (!own.includes('BUDGET')) for (const row of rows) expect(flagsIn(own), row).toContain(flagsIn(row)[0])
  expect(stdout).toMatch(new RegExp(`Examples?:[^]*farebox ${name} ${word}`))
})

describe('examples', () => {
  test('each command has one', () => {
    expect(Object.keys(examples)).toEqual(commands.map(({ name }) => name))
  })

  test.each(helped)('those of $name use its words and flags', async ({ name, usage, synopses, words }) => {
    const lines = (examples[name] ?? []).map(([line]) => /farebox [^>)]*/.exec(line)?.[0].trim() ?? line)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      const [, command, word = ''] = line.split(' ')
      expect(command).toBe(name)
      const isBare = (word === '' || word.startsWith('--')) && synopses.some(each => each.words.length === 0)
      if (words.length > 0 && !isBare) expect(words).toContain(word)
      const allowed = new Set(flagsIn(usage))
      expect(
        flagsIn(line).filter(flag => !allowed.has(flag)),
        line,
      ).toEqual([])
    }
    expect((await runCommand(['help', name])).stdout).toContain(lines[0])
  })
})
