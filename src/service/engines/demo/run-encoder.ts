import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { complaintCharacters, encodeMs } from '../bounds.ts'
import { encoderEnvironment } from './encoder-environment.ts'

/** The encoder ended without a video. */
export class EncodeFailed extends Error {
  /** The encoder's own words, for the operator's log only. */
  readonly complaint: string

  constructor(message: string, complaint: string) {
    super(message)
    this.name = 'EncodeFailed'
    this.complaint = complaint
  }
}

/** Runs an encoder to its end, at low priority and within a time limit. Throws `EncodeFailed`; an abort kills it. */
export function runEncoder(
  path: string,
  args: readonly string[],
  { signal, timeoutMs = encodeMs }: { signal: AbortSignal; timeoutMs?: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const child = spawn(path, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: encoderEnvironment(),
      windowsHide: true,
      shell: false,
    })
    if (child.pid !== undefined) lower(child.pid)
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-complaintCharacters)
    })
    const kill = () => child.kill('SIGKILL')
    let late = false
    const timer = setTimeout(() => {
      late = true
      kill()
    }, timeoutMs)
    signal.addEventListener('abort', kill, { once: true })
    const ended = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
    }
    child.once('error', error => {
      ended()
      reject(new EncodeFailed('The video encoder could not be started.', error.message))
    })
    child.once('close', code => {
      ended()
      if (signal.aborted) reject(signal.reason)
      else if (late) reject(new EncodeFailed(`The video encoder took longer than ${timeoutMs / 1000} s.`, complaint))
      else if (code === 0) resolve()
      else reject(new EncodeFailed('The video encoder could not make this video.', complaint))
    })
  })
}

/** Serving requests comes first; a system that forbids it encodes all the same. */
function lower(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The child may already be gone, or priorities are not ours to change.
  }
}
