import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { asTyped, inShell, ownCommand } from '#agent/words/typed-commands.ts'

const folder = mkdtempSync(join(tmpdir(), 'farebox-own command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An installation, as npm or a client puts it down; a clone has its sources. */
function installation(name: string, isClone = false): string {
  const root = join(folder, name)
  mkdirSync(join(root, 'bin'), { recursive: true })
  if (isClone) mkdirSync(join(root, 'src/cli'), { recursive: true })
  if (isClone) writeFileSync(join(root, 'src/cli/main.ts'), '')
  writeFileSync(join(root, 'bin/farebox.mjs'), '')
  return join(root, 'bin/farebox.mjs')
}

/** A folder of a PATH with links in it. */
function programs(name: string, links: Readonly<Record<string, string>>): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (const [link, target] of Object.entries(links)) symlinkSync(target, join(path, link))
  return path
}

const ours = installation('ours')
const stranger = installation('stranger')
const clone = installation('clone', true)
const plain = '/opt/farebox/bin/farebox.mjs'
const otherNode = join(folder, 'other-node')
writeFileSync(otherNode, '')
chmodSync(otherNode, 0o755)
const node = process.execPath

const linked = programs('linked', { farebox: ours, node })
const strangers = programs('strangers', { farebox: stranger, node })
const ofNpm = programs('project/node_modules/.bin', { farebox: ours, node })
const onlyNode = programs('only-node', { node })
const oldNode = programs('old-node', { node: otherNode })

describe('the command of this installation', { tags: ['posix'] }, () => {
  test.each([
    ['its word, where the PATH leads to it', [linked], ours, 'farebox'],
    ['its word, where no file of ours is there', [], null, 'farebox'],
    ['Node and the file, where nothing has that name', [onlyNode], ours, `node '${ours}'`],
    ['the same, for another account', [strangers], ours, `node '${ours}'`],
    ['the same, where npm alone would find it', [ofNpm, onlyNode], ours, `node '${ours}'`],
    ['without quotes where a shell needs none', [onlyNode], plain, `node ${plain}`],
    ['this Node by its path, where a terminal has another one', [oldNode], ours, `${node} '${ours}'`],
    ['this Node by its path, where a terminal has none', [], ours, `${node} '${ours}'`],
    ['any Node for a clone, which brings its own', [oldNode], clone, `node '${clone}'`],
  ])('is %s', (_, path, launcher, command) => {
    const env = { PATH: path.join(delimiter) }
    expect(ownCommand({ env, execPath: node, platform: process.platform }, launcher)).toBe(command)
  })

  test('is found from here, whichever folder the process is in', () => {
    const env = { PATH: onlyNode }
    expect(ownCommand({ env, execPath: node, platform: process.platform })).toBe(
      `node ${resolve(import.meta.dirname, '../../bin/farebox.mjs')}`,
    )
  })
})

/** As npm installs a package globally on Windows. */
function installedByNpm(name: string): { path: string; launcher: string } {
  const launcher = installation(`${name}/node_modules/farebox`)
  const path = join(folder, name)
  writeFileSync(join(path, 'farebox.cmd'), '')
  writeFileSync(join(path, 'node.exe'), '')
  return { path, launcher }
}

test("on Windows, npm's script is the command of the package beside it, and of no other", () => {
  const { path, launcher } = installedByNpm('npm')
  const running = { env: { PATH: path }, execPath: node, platform: 'win32' } as const
  expect(ownCommand(running, launcher)).toBe('farebox')
  expect(ownCommand(running, stranger)).toBe(`node "${stranger}"`)
})

test.each([
  ['C:\\farebox\\data', 'C:\\farebox\\data'],
  ['C:\\Ann M\\data', '"C:\\Ann M\\data"'],
  ['C:\\Ann M\\', '"C:\\Ann M\\\\"'],
  ['{"a":"b c"}', '"{\\"a\\":\\"b c\\"}"'],
  ['{"a":"b\\\\c"}', '"{\\"a\\":\\"b\\\\c\\"}"'],
  ['a\\" b', '"a\\\\\\" b"'],
])('on Windows, %j is typed as %j', (word, typed) => {
  expect(inShell(word, 'win32')).toBe(typed)
})

const usual = join(homedir(), '.farebox')

test.each([
  ['the usual folder needs no flag', usual, false, 'Run `farebox wallet status`.', 'Run `farebox wallet status`.'],
  [
    'another folder is named',
    '/a b',
    false,
    'Run `farebox wallet status`.',
    "Run `farebox wallet status --data '/a b'`.",
  ],
  ['once', '/a', false, "`farebox mcp --data '/b'`", "`farebox mcp --data '/b'`"],
  ['not for what takes no wallet', '/a', false, '`farebox up` or `farebox serve`', '`farebox up` or `farebox serve`'],
  ['a name alone is not a command', '/a', false, 'farebox wallet and `farebox`', 'farebox wallet and `farebox`'],
  [
    'a shared journal is told without its address',
    usual,
    true,
    'Run `farebox wallet start`.',
    'Run `farebox wallet start`. That terminal needs this wallet’s FAREBOX_JOURNAL_URL.',
  ],
])('as typed: %s', (_, at, isJournalShared, sentence, typed) => {
  expect(asTyped(sentence, { folder: at, isJournalShared })).toBe(typed)
})

test.each(['--help', 'keys --help'])('the command `farebox %s` is typed as what starts this installation', words => {
  vi.stubEnv('PATH', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(ownCommand()).not.toBe('farebox')
  expect(asTyped(`Run \`farebox ${words}\`.`)).toBe(`Run \`${ownCommand()} ${words}\`.`)
})
