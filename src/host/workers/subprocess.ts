import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'

export interface SubprocessRun {
  /** Only our own numbers and names, and nothing of a request. */
  args: readonly string[]
  /** Written to its stdin, if it reads from there. */
  input?: Buffer
  /** Receives each piece of its output; without it the output is not read. */
  onOutput?(piece: Buffer): void
  /** Receives each piece of its stderr; without it stderr is not read. */
  onLog?(piece: Buffer): void
  /** Most bytes of stdout or stderr; a subprocess that writes more is killed. */
  outputBytes?: number
  timeoutMs: number
  signal: AbortSignal
  /** Whether requests have priority over it. */
  isPatient?: boolean
}

/** How a subprocess ended: by itself, at its deadline, or at its output limit. */
type SubprocessEnd = { kind: 'exited'; code: number | null } | { kind: 'late' } | { kind: 'too-long' }

/**
 * Runs an executable to its end. An abort kills it and throws the signal's reason; if it can't be started, Node's own
 * error is thrown.
 */
export function runSubprocess(path: string, run: SubprocessRun): Promise<SubprocessEnd> {
  const { args, input, onOutput, onLog, signal, timeoutMs } = run
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stdio = [input ? 'pipe' : 'ignore', onOutput ? 'pipe' : 'ignore', onLog ? 'pipe' : 'ignore'] as const
    const child = spawn(path, args, { stdio: [...stdio], env: subprocessEnvironment(), windowsHide: true })
    if (run.isPatient && child.pid !== undefined) lowerPriority(child.pid)
    let cut: 'late' | 'too-long' | null = null
    const kill = () => void child.kill('SIGKILL')
    const cutOff = (why: 'late' | 'too-long') => {
      cut ??= why
      kill()
    }
    const timer = setTimeout(() => cutOff('late'), timeoutMs)
    signal.addEventListener('abort', kill, { once: true })
    for (const [stream, listener] of [
      [child.stdout, onOutput],
      [child.stderr, onLog],
    ] as const) {
      if (listener)
        stream?.on(
          'data',
          withinBytes(listener, run.outputBytes, () => cutOff('too-long')),
        )
    }
    // The subprocess may stop reading before its input ends, which is not our fault.
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

function withinBytes(listener: (piece: Buffer) => void, mostBytes = Number.POSITIVE_INFINITY, beyond: () => void) {
  let bytes = 0
  return (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= mostBytes) listener(piece)
    else beyond()
  }
}

/** Where the system forbids it, the subprocess runs at normal priority. */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The subprocess may already be gone, or we may not change priorities.
  }
}

/** The variables a subprocess needs to start. It gets no keys or settings of the service. */
const passed = ['PATH', 'Path', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH']

export const subprocessEnvironment = (all: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(passed.flatMap(name => (all[name] === undefined ? [] : [[name, all[name]]])))
