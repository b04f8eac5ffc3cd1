import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { startCommand } from '#cli/assistants/start-command.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const posix = { tags: ['posix'] }

const startedWith = (program: string): string => startCommand([program, 'farebox.mjs'], {}).command

/** A Node of Homebrew, by its real path, as Node itself reports it. */
function homebrew({ formula, linked }: { formula: string; linked: string }): { node: string; link: string } {
  const prefix = temporaryFolder('homebrew')
  const releaseOf = (release: string) => join(prefix, 'Cellar', formula, release)
  for (const release of ['26.1.0', '26.2.0']) {
    mkdirSync(join(releaseOf(release), 'bin'), { recursive: true })
    writeFileSync(join(releaseOf(release), 'bin', 'node'), '')
  }
  const link = join(prefix, 'opt', formula)
  mkdirSync(dirname(link))
  symlinkSync(releaseOf(linked), link)
  return { node: join(releaseOf('26.1.0'), 'bin', 'node'), link: join(link, 'bin', 'node') }
}

test.each(['node', 'node@26'])('a client starts Homebrew’s %s by the link that an upgrade keeps', posix, formula => {
  const { node, link } = homebrew({ formula, linked: '26.1.0' })
  expect(startedWith(node)).toBe(link)
})

test('a client starts the Node that runs, if Homebrew’s link is to another release', posix, () => {
  const { node } = homebrew({ formula: 'node', linked: '26.2.0' })
  expect(startedWith(node)).toBe(node)
})

test('a client starts any other Node by its own path', () => {
  expect(startedWith('/usr/local/bin/node')).toBe('/usr/local/bin/node')
})
