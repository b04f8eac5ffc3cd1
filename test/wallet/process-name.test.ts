import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { isRunning, thisProcess } from '#wallet/ids.ts'

const ended = spawnSync(process.execPath, ['-e', '']).pid

const names: [who: string, name: string, runs: boolean][] = [
  ['this process', thisProcess(), true],
  ['an earlier start with the same number, as in a container', `${process.pid}@${hostname()}#another-start`, false],
  ['a process that has ended', `${ended}@${hostname()}#x`, false],
  ['another process of this machine', `${process.ppid}@${hostname()}#x`, true],
  ['a process of another machine, of which nothing is known', '1@another-machine#x', true],
]

test.each(names)('%s', (_who, name, runs) => {
  expect(isRunning(name)).toBe(runs)
})
