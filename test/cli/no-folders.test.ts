/** Below /proc the system creates no folders: each new name stays missing, whatever is done about it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

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
