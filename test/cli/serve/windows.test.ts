/** What is missing on Windows, which has no signals to stop or reload the service. */
import { expect, test } from 'vitest'
import { onReloadSignal } from '#cli/commands/serve.ts'
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
