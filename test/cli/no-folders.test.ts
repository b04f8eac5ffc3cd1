/** Below /proc the system creates no folders: each new name stays missing, whatever is done about it. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../temporary-folder.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'farebox.mjs')
const home = '/proc/1/home'

test.each([
  [['wallet', 'status']],
  [['wallet', 'receipts']],
  [['up', '--once', '--no-journey', '--port', '0', '--data', home]],
  [['keys', 'create', '--usd', '1', '--data', home]],
  [['install', 'cursor', '--yes']],
])('%j ends with a sentence', { tags: ['linux'], timeout: 60_000 }, args => {
  const { PATH } = process.env
  const { status, stderr, signal } = spawnSync(process.execPath, [launcher, ...args], {
    env: { PATH, HOME: home },
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  })
  expect([signal, status, stderr]).toEqual([null, 1, expect.stringMatching(/\/proc\/1\/home\S* ?.*\. \S.*/)])
  expect(stderr).not.toMatch(/unexpected|ENOENT|at file:/)
})

const startedIn = (cwd: string, command: string): string =>
  spawnSync('sh', ['-c', command, 'sh', process.execPath, launcher], { cwd, encoding: 'utf8', timeout: 30_000 }).stderr

test('a data folder that is a link to nowhere ends with a sentence', { tags: ['posix'], timeout: 60_000 }, () => {
  const folder = temporaryFolder('no-folders')
  symlinkSync(join(folder, 'absent'), join(folder, 'link'))
  const create = 'echo correct horse battery staple | "$1" "$2" wallet create --passphrase-fd 0 --data link'
  expect(startedIn(folder, create)).toMatch(/^The system cannot create a folder at \S+link\. /)
})

test('a current folder that was deleted ends with a sentence', { tags: ['linux'], timeout: 60_000 }, () => {
  const folder = join(temporaryFolder('no-folders'), 'deleted')
  mkdirSync(folder)
  expect(startedIn(folder, 'rmdir ../deleted; "$1" "$2" doctor')).toBe(
    'The current folder no longer exists. Change to another folder, then retry.\n',
  )
})
