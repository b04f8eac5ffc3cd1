/** farebox is on no registry yet, so documents must name commands that run this clone, never another package with that name. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

/** With slashes on Windows too. */
const filesIn = (...patterns: string[]): string[] =>
  globSync(patterns, { cwd: root }).map(path => path.replaceAll('\\', '/'))

const documents = filesIn('*.md', 'docs/**/*.md', 'examples/**/*.*').filter(path => path !== 'CHANGELOG.md')
const sources = filesIn('src/**/*.ts', 'tools/*.ts', 'prompts/*.ts', 'resources/*.ts', 'scripts/**/*.ts')

test('nothing tells to run whatever npm has under that name', () => {
  expect(documents.length).toBeGreaterThan(15)
  const byNpx = /\bnpx\s+(-\S+\s+)*farebox\b|'npx', args: \['farebox/
  expect([...documents, ...sources].filter(path => byNpx.test(read(path)))).toEqual([])
})

test('the commands in the README can be typed as written', () => {
  const lines = [...read('README.md').matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.split('\n').map(line => line.trim()),
  )
  const commands = lines.filter(line => line.includes('farebox'))
  expect(commands.length).toBeGreaterThan(3)
  expect(commands.filter(line => !/^(eval "\$\()?node bin\/farebox\.mjs /.test(line))).toEqual([])
})

test('each document with farebox commands says how to run them in a clone', () => {
  const named = documents.filter(path => /```sh\n(?:(?!```)[\s\S])*^farebox /m.test(read(path)))
  expect(named).toEqual(expect.arrayContaining(['docs/operations/run.md', 'docs/wallet.md']))
  expect(named.filter(path => !/run `node bin\/farebox\.mjs`/.test(read(path)))).toEqual([])
  // And nothing else: one way to type a command.
  expect(named.filter(path => /`npx`/.test(read(path)))).toEqual([])
})

test('what a command points to is a heading of that document, or the document as a whole', () => {
  const pointers = sources.flatMap(path =>
    [...read(path).matchAll(/(?:["`]([^"`\n]{1,60})["`] in )?(docs\/[a-z/-]+\.md)/g)].map(
      ([, words, document = '']) => ({
        ...{ path, words, document },
      }),
    ),
  )
  expect(pointers.length).toBeGreaterThan(2)
  const headings = (document: string) => read(document).match(/^#+ .*$/gm) ?? []
  const isThere = ({ words, document }: (typeof pointers)[number]) =>
    documents.includes(document) && (words === undefined || headings(document).some(each => each.includes(words)))
  expect(pointers.filter(pointer => !isThere(pointer))).toEqual([])
})

test('the documents name each other as they are', () => {
  const broken = documents.flatMap(path =>
    [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = '']) => fileURLToPath(new URL(target, `file://${root}${path}`)))
      .filter(target => globSync(target).length === 0)
      .map(target => `${path}: ${target}`),
  )
  expect(broken).toEqual([])
})

/** Where a row may name a file: in its room, which is below `src/` or beside it, or in another room by its whole path. */
const placesOf = (room: string, name: string): string[] => [
  `src/${room}/**/${name}`,
  `${room}/**/${name}`,
  `src/${name}`,
]

test('the files and folders that docs/architecture.md names are there', () => {
  const table = /## Where to look\n([\s\S]*?)\n\nThe folders/.exec(read('docs/architecture.md'))?.[1] ?? ''
  let room = ''
  const missing = table.split('\n').flatMap(row => {
    const [, first = '', second = '', text = ''] = row.split('|').map(cell => cell.trim())
    room = /^`(\w+)`$/.exec(first)?.[1] ?? room
    const named = (cell: string) => [...cell.matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, name = '']) => name)
    return [...named(second), ...named(text)]
      .filter(name => placesOf(room, name).every(place => globSync(place, { cwd: root }).length === 0))
      .map(name => `${room}: ${name}`)
  })
  expect(table.split('\n').length).toBeGreaterThan(30)
  expect(missing).toEqual([])
})
