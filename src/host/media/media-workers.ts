import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Slots } from '../workers/slots.ts'
import { lowerPriority, subprocessEnvironment } from '../workers/subprocess.ts'
import { FfmpegMissing } from './ffmpeg.ts'
import type { MediaAnswer, MediaRequest, MediaTaskName, MediaTasks } from './tasks.ts'

export interface MediaWorkersOptions {
  /** Concurrent tasks, each in its own process, and how many may wait. */
  atOnce: number
  waiting: number
  /** A task that takes longer is killed with its process. */
  timeoutMs: number
  /** Memory limit of a process; one that exceeds it is killed. */
  memoryMb: number
  /** Whether requests have priority over it. */
  isPatient?: boolean
  /** The file that the processes run; for tests. */
  program?: string
}

/** Why a task ended without an answer; `died` means out of memory, or a fault in native code. */
export type MediaProblem = 'unreadable' | 'excessive' | 'late' | 'died' | 'failed'

/** A task ended without an answer. */
export class MediaFailed extends Error {
  readonly problem: MediaProblem

  constructor(problem: MediaProblem, words: string) {
    super(words)
    this.name = 'MediaFailed'
    this.problem = problem
  }
}

/**
 * Processes that work on media for one purpose: started on demand, kept for the next task, and stopped when idle for a
 * while. They keep this process alive only while they work.
 */
export class MediaWorkers {
  readonly #options: MediaWorkersOptions
  readonly #slots: Slots
  #isClosed = false
  readonly #idle: { child: ChildProcess; ending: NodeJS.Timeout }[] = []

  constructor(options: MediaWorkersOptions) {
    this.#options = options
    this.#slots = new Slots(options.atOnce, options.waiting)
  }

  /** Whether the queue has no place for another task of this account. */
  get full(): boolean {
    return this.#slots.full
  }

  /**
   * Runs `work` in its turn, with a function that runs tasks. If it is aborted while it waits, throws the signal's
   * reason at once.
   */
  turn<Value>(work: (run: RunMediaTask) => Promise<Value>, signal: AbortSignal): Promise<Value> {
    return this.#slots.run(() => work((name, task) => this.#run(name, task, signal)), signal)
  }

  /** Stops idle processes now, and busy ones after their task. */
  close(): void {
    this.#isClosed = true
    for (const { child, ending } of this.#idle.splice(0)) {
      clearTimeout(ending)
      child.kill('SIGKILL')
    }
  }

  /** Throws `MediaFailed`, `FfmpegMissing`, or the signal's reason. */
  async #run<Name extends MediaTaskName>(name: Name, task: MediaTasks[Name]['task'], signal: AbortSignal) {
    signal.throwIfAborted()
    const child = this.#taken()
    const said = await this.#answered(child, { name, task }, signal)
    this.#keep(child)
    if ('answer' in said) return said.answer as MediaTasks[Name]['answer']
    if (said.problem === 'missing') throw new FfmpegMissing()
    throw new MediaFailed(said.problem, said.words)
  }

  #answered(child: ChildProcess, request: MediaRequest, signal: AbortSignal): Promise<MediaAnswer> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void, isKilled = true) => {
        clearTimeout(late)
        signal.removeEventListener('abort', left)
        child.off('message', answered).off('exit', died).off('error', died)
        if (isKilled) child.kill('SIGKILL')
        settle()
      }
      const answered = (answer: MediaAnswer) => end(() => resolve(answer), false)
      const died = () => end(() => reject(new MediaFailed('died', 'The process for media files ended.')))
      const left = () => end(() => reject(signal.reason))
      const isLate = () => end(() => reject(new MediaFailed('late', 'Processing the media file took too long.')))
      const late = setTimeout(isLate, this.#options.timeoutMs)
      signal.addEventListener('abort', left, { once: true })
      child.once('message', answered as (message: unknown) => void)
      child.once('exit', died).once('error', died)
      // If sending fails, the process has ended, which is reported separately.
      child.send(request, () => undefined)
    })
  }

  #taken(): ChildProcess {
    const kept = this.#idle.pop()
    const child = kept?.child ?? this.#started()
    if (kept) {
      clearTimeout(kept.ending)
      child.removeAllListeners()
      child.ref()
      child.channel?.ref()
    }
    return child
  }

  #started(): ChildProcess {
    const { program = ownProgram, memoryMb, isPatient } = this.#options
    const child = fork(program, [`${memoryMb}`], {
      execArgv: [`--max-old-space-size=${heapMb}`],
      env: subprocessEnvironment(),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    if (isPatient && child.pid !== undefined) lowerPriority(child.pid)
    return child
  }

  #keep(child: ChildProcess): void {
    if (this.#isClosed) return void child.kill('SIGKILL')
    const forget = () => {
      const at = this.#idle.findIndex(each => each.child === child)
      const [gone] = at < 0 ? [] : this.#idle.splice(at, 1)
      clearTimeout(gone?.ending)
    }
    const ending = setTimeout(() => {
      forget()
      child.kill('SIGKILL')
    }, idleMs).unref()
    this.#idle.push({ child, ending })
    child.once('exit', forget).once('error', forget)
    child.unref()
    child.channel?.unref()
  }
}

/** Runs one task in its process. Throws `MediaFailed`, `FfmpegMissing`, or the signal's reason. */
export type RunMediaTask = <Name extends MediaTaskName>(
  name: Name,
  task: MediaTasks[Name]['task'],
) => Promise<MediaTasks[Name]['answer']>

const ownProgram = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './media-process.ts' : './media-process.js', import.meta.url),
)

/** Checks with a temporary media process. Throws `FfmpegMissing` if FFmpeg or one of these encoders is missing. */
export async function requireFfmpeg(encoders: readonly string[]): Promise<void> {
  const workers = new MediaWorkers({ atOnce: 1, waiting: 0, timeoutMs: findMs, memoryMb: 1_024 })
  try {
    const lacking = await workers.turn(run => run('lacking', encoders), new AbortController().signal)
    if (lacking.length > 0) throw new FfmpegMissing(lacking)
  } finally {
    workers.close()
  }
}

/** JavaScript heap of a media process: tables of a file's samples, of which a long video has a million. */
export const heapMb = 384

/** A media process that was idle for this long is stopped: it takes some 100 MB, and a new one starts in 0.1 s. */
export const idleMs = 30_000

/** How long FFmpeg may take to load and list its encoders; 0.2 s on an idle machine. */
export const findMs = 20_000
