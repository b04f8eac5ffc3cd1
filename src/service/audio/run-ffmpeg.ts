import { spawn } from 'node:child_process'
import { modelOverloaded, requestTimeout } from '#contract/errors.ts'
import { encoderEnvironment } from '../engines/demo/encoder-environment.ts'
import { type Encoder, EncoderMissing, findEncoder } from '../engines/demo/find-encoder.ts'
import { Slots } from '../engines/demo/slots.ts'
import { soundMs, soundsAtOnce, soundsWaiting } from './bounds.ts'

const slots = new Slots(soundsAtOnce, soundsWaiting)
let found: Promise<Encoder> | null = null

/** ffmpeg, searched for once; null where there is none, which may be installed meanwhile. */
export async function ffmpeg(): Promise<Encoder | null> {
  found ??= findEncoder()
  try {
    return await found
  } catch (error) {
    found = null
    if (error instanceof EncoderMissing) return null
    throw error
  }
}

export interface FfmpegRun {
  /** Numbers and names of ours alone; nothing of a request is in them. */
  args: readonly string[]
  /** Written to its input, where it reads from there. */
  input?: Buffer
  /** Told of each piece of its output. */
  onOutput(piece: Buffer): void
  signal: AbortSignal
  timeoutMs?: number
}

/**
 * Runs ffmpeg over one file. False where it could not read or write it; an abort kills it and throws. Throws
 * `modelOverloaded` where too many wait, and `requestTimeout` once its time is over, which is not the file's fault.
 */
export async function runFfmpeg(path: string, run: FfmpegRun): Promise<boolean> {
  if (slots.full) throw modelOverloaded()
  return slots.run(() => converted(path, run))
}

function converted(path: string, { args, input, onOutput, signal, timeoutMs = soundMs }: FfmpegRun): Promise<boolean> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const child = spawn(path, ['-hide_banner', '-loglevel', 'error', ...args], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: encoderEnvironment(),
      windowsHide: true,
    })
    const kill = () => void child.kill('SIGKILL')
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      kill()
    }, timeoutMs)
    signal.addEventListener('abort', kill, { once: true })
    const ended = (settle: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      settle()
    }
    child.stdout.on('data', onOutput)
    // It may stop reading before its input ends, which is no fault of ours.
    child.stdin.on('error', () => undefined).end(input ?? Buffer.alloc(0))
    child.once('error', error => ended(() => reject(error)))
    child.once('close', code =>
      ended(() => {
        if (signal.aborted) reject(signal.reason)
        else if (isLate) reject(requestTimeout())
        else resolve(code === 0)
      }),
    )
  })
}
