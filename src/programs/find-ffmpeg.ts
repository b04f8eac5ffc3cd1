import { encoderListBytes, findMs } from './bounds.ts'
import { runProgram } from './run-program.ts'

/** Nothing on this machine is ffmpeg, or has the encoders that were asked for. */
export class FfmpegMissing extends Error {
  /** A sentence, and another one that says what to do. */
  readonly problem: string
  readonly nextStep: string
  /** Whether one was found, though without some of the encoders. */
  readonly isInstalled: boolean

  /** `lacks` are the encoders that the ffmpeg which was found does not have; none where none was found. */
  constructor(lacks: readonly string[] = []) {
    const names = lacks.join(' and ')
    const problem = names ? `The ffmpeg that was found lacks ${names}` : 'No ffmpeg was found'
    const step = `install ffmpeg${names && ` with ${names}`} so that it is on PATH, or run \`npm install @ffmpeg-installer/ffmpeg\`.`
    super(`${problem}: ${step}`)
    this.name = 'FfmpegMissing'
    this.isInstalled = names !== ''
    this.problem = `${problem}.`
    this.nextStep = `I${step.slice(1)}`
  }
}

/**
 * ffmpeg from PATH, else from its package, as a name or a path; the first that has all these encoders. Throws
 * `FfmpegMissing`.
 */
export async function findFfmpeg(
  needed: readonly string[] = [],
  candidates: readonly (() => Promise<string>)[] = [async () => 'ffmpeg', packagedFfmpeg],
): Promise<string> {
  let lacks: readonly string[] | undefined
  for (const candidate of candidates) {
    const path = await candidate().catch(() => null)
    const encoders = path === null ? null : await encodersOf(path)
    if (path === null || !encoders) continue
    const lacking = needed.filter(name => !encoders.has(name))
    if (lacking.length === 0) return path
    lacks ??= lacking
  }
  throw new FfmpegMissing(lacks)
}

/** npm drops an optional package that failed without a word, so only importing it tells. */
async function packagedFfmpeg(): Promise<string> {
  const { default: installed } = await import('@ffmpeg-installer/ffmpeg')
  return installed.path
}

/** Null of what is not ffmpeg, or does not run. */
async function encodersOf(path: string): Promise<ReadonlySet<string> | null> {
  const pieces: Buffer[] = []
  const end = await runProgram(path, {
    args: ['-hide_banner', '-encoders'],
    onOutput: piece => pieces.push(piece),
    ...{ outputBytes: encoderListBytes, timeoutMs: findMs, signal: new AbortController().signal },
  }).catch(() => null)
  if (end?.kind !== 'exited' || end.code !== 0) return null
  const list = Buffer.concat(pieces).toString()
  return new Set([...list.matchAll(/^ [VAS][A-Z.]{5} (\S+)/gm)].map(([, name = '']) => name))
}
