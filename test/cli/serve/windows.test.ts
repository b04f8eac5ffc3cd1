/** What is missing on Windows, which has no signals to stop or reload the service. */
import { expect, test } from 'vitest'
import { onReloadSignal } from '#cli/commands/serve.ts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderInUse } from '#cli/data/service-admin.ts'
import { requireForWorkers } from '#cli/serve/workers.ts'

test('closing the console is not a reload there', async () => {
  const before = process.listenerCount('SIGHUP')
  const stop = onReloadSignal(async () => {}, 'win32')
  expect(process.listenerCount('SIGHUP')).toBe(before)
  stop()
  const stopOnLinux = onReloadSignal(async () => {}, 'linux')
  expect(process.listenerCount('SIGHUP')).toBe(before + 1)
  stopOnLinux()
  expect(process.listenerCount('SIGHUP')).toBe(before)
})

test('several workers are refused there, before anything is started', async () => {
  const nothing = () => undefined
  const log = { info: nothing, warn: nothing, error: nothing }
  const work = requireForWorkers({} as never, {} as never, {}, log, 'win32')
  await expect(work).rejects.toMatchObject({ message: expect.stringContaining('Windows') })
})

test.each([
  ['win32', 'Stop it with Ctrl-C in its terminal, or'],
  ['linux', 'Stop it with `kill 7`, or'],
])('on %s, a folder that is in use says how to stop its service', (platform, sentence) => {
  const running = { url: 'http://127.0.0.1:8402', token: 't', pid: 7 }
  expect(folderInUse(dataFolder('.farebox'), running, platform).nextStep).toContain(sentence)
})
