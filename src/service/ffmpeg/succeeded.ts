import { requestTimeout } from '#contract/errors.ts'
import type { ProgramEnd } from '#programs/run-program.ts'

/** Whether a file could be read or written. Throws `requestTimeout` once the time was over, which is not the file's fault. */
export function succeeded(end: ProgramEnd): boolean {
  if (end.kind === 'late') throw requestTimeout()
  return end.kind === 'exited' && end.code === 0
}
