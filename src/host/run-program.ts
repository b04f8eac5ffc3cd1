import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { programEnvironment } from './program-environment.ts'

export interface ProgramRun {
  /** Numbers and names of ours alone; nothing of a request is in them. */
  args: readonly string[]
  /** Written to its input, where it reads from there. */
  input?: Buffer
  /** Told of each piece of its output; what nobody is told of is not read. */
  onOutput?(piece: Buffer): void
  /** The same for what it says beside its output. */
  onLog?(piece: Buffer): void
  /** Most bytes of either; one that writes more is ended. */
  outputBytes?: number
  timeoutMs: number
  signal: AbortSignal
  /** Whether requests come before it. */
  isPatient?: boolean
}

/** How a program ended: by itself, or because its time was over, or because it wrote too much. */
export type ProgramEnd = { kind: 'exited'; code: number | null } | { kind: 'late' } | { kind: 'too-long' }

/**
 * Runs a program to its end. An abort kills it and throws the signal's reason; one that cannot be started throws Node's own
 * error.
 */
export function runProgram(path: string, run: ProgramRun): Promise<ProgramEnd> {
  const { args, input, onOutput, onLog, signal, timeoutMs } = run
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stdio = [input ? 'pipe' : 'ignore', onOutput ? 'pipe' : 'ignore', onLog ? 'pipe' : 'ignore'] as const
    const child = spawn(path, args, { stdio: [...stdio], env: programEnvironment(), windowsHide: true })
    if (run.isPatient && child.pid !== undefined) lower(child.pid)
    let cut: 'late' | 'too-long' | null = null
    const kill = () => void child.kill('SIGKILL')
    const cutOff = (why: 'late' | 'too-long') => {
      cut ??= why
      kill()
    }
    const timer = setTimeout(() => cutOff('late'), timeoutMs)
    signal.addEventListener('abort', kill, { once: true })
    for (const [stream, told] of [
      [child.stdout, onOutput],
      [child.stderr, onLog],
    ] as const) {
      if (told)
        stream?.on(
          'data',
          withinBytes(told, run.outputBytes, () => cutOff('too-long')),
        )
    }
    // It may stop reading before its input ends, which is no fault of ours.
    child.stdin?.on('error', () => undefined).end(input)
    const ended = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
    }
    child.once('error', error => {
      ended()
      reject(error)
    })
    child.once('close', code => {
      ended()
      if (signal.aborted) reject(signal.reason)
      else resolve(cut ? { kind: cut } : { kind: 'exited', code })
    })
  })
}

function withinBytes(told: (piece: Buffer) => void, mostBytes = Number.POSITIVE_INFINITY, beyond: () => void) {
  let bytes = 0
  return (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= mostBytes) told(piece)
    else beyond()
  }
}

/** A system that forbids it runs the program all the same. */
function lower(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The child may already be gone, or priorities are not ours to change.
  }
}
