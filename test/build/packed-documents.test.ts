/** The installed package contains everything that its commands, README and guides refer to. */
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

let packed: string[]
beforeAll(async () => {
  const args = ['pack', '--ignore-scripts', '--dry-run', '--json']
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 16 * 1024 * 1024 })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  packed = files.map(({ path }) => path)
}, 60_000)

/** A file, or a folder with files. */
const isPacked = (path: string): boolean =>
  packed.some(each => each === path || each.startsWith(`${path.replace(/\/$/, '')}/`))

test('each document and example that a command or a setting names', () => {
  const sources = globSync('{src,tools,prompts,resources}/**/*.ts', { cwd: root })
  const named = sources.flatMap(path =>
    read(path)
      .split('\n')
      .filter(line => !/^\s*(\/\/|\/?\*)/.test(line))
      .flatMap(line => [...line.matchAll(/(?<![\w/}])(?:docs|examples)\/[a-z][\w./-]*\w/g)].map(([name]) => name)),
  )
  expect(named).toEqual(expect.arrayContaining(['docs/operations/monitor.md', 'examples/farebox.yaml']))
  expect(named.filter(name => !isPacked(name))).toEqual([])
})

/** About developing farebox, which needs a clone; images, which are large. */
const isLeftOut = (path: string): boolean =>
  /^(test|docs\/(contributing|decisions|performance|images))\/|^CONTRIBUTING\.md$/.test(path)

test('each file that a packed document links to, but what only developing needs', () => {
  const documents = packed.filter(path => /^(README|SECURITY|docs\/.*|examples\/.*)\.md$/.test(path))
  expect(documents).toContain('docs/operations/README.md')
  const links = documents.flatMap(path =>
    [...read(path).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to = '']) =>
      posix.normalize(posix.join(posix.dirname(path), to)),
    ),
  )
  expect(links).toContain('docs/operations/configure.md')
  expect(links.filter(link => !isPacked(link) && !isLeftOut(link))).toEqual([])
})

test('nothing that only developing needs is in it', () => {
  expect(packed.filter(path => isLeftOut(path) || /^(src|scripts|bench)\//.test(path))).toEqual([])
})
