import { expect, onTestFinished, test, vi } from 'vitest'
import { processOutput } from '#cli/output.ts'

/** The listener that a command adds to its stdout. */
function onError(): (error: Error) => void {
  const before = new Set(process.stdout.listeners('error'))
  processOutput()
  const [added] = process.stdout.listeners('error').filter(listener => !before.has(listener))
  onTestFinished(() => void process.stdout.off('error', added as () => void))
  return added as (error: Error) => void
}

const failed = (code: string): Error => Object.assign(new Error(code), { code })

test.each(['EPIPE', 'EOF'])('a reader that has left (%s) ends the command without an error', code => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {
    throw new Error('ended')
  }) as never)
  onTestFinished(() => exit.mockRestore())
  expect(() => onError()(failed(code))).toThrow('ended')
  expect(exit).toHaveBeenCalledWith(0)
})

test('any other error of stdout is not hidden', () => {
  expect(() => onError()(failed('ENOSPC'))).toThrow('ENOSPC')
})
