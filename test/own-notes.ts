/**
 * Tests take one key in many folders, so each file of tests has notes of its own about which journal counts for it; and
 * `farebox` leads to this clone, as after `npm link`, so that advice names it by its word.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, vi } from 'vitest'
import { removeTemporaryFolders, temporaryFolder } from './temporary-folder.ts'

const home = temporaryFolder('state')
process.env.XDG_STATE_HOME = home
const programs = join(home, 'bin')
const clone = fileURLToPath(new URL('..', import.meta.url))
mkdirSync(programs)
if (process.platform === 'win32') {
  // A link to a folder, unlike one to a file, needs no privilege there.
  mkdirSync(join(programs, 'node_modules'))
  symlinkSync(clone, join(programs, 'node_modules', 'farebox'), 'junction')
  writeFileSync(join(programs, 'farebox.cmd'), '')
} else symlinkSync(join(clone, 'bin', 'farebox.mjs'), join(programs, 'farebox'))
const path = process.env.PATH
process.env.PATH = [programs, path].join(delimiter)
// The next file may run in this process.
afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  process.env.PATH = path
  removeTemporaryFolders()
})
