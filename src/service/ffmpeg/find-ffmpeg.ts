import { runProgram } from '../programs/run-program.ts'
import { encoderListBytes, findMs } from './bounds.ts'

/** Nothing on this machine encodes H.264. */
export class FfmpegMissing extends Error {
  constructor() {
    super(
      'No video encoder was found: install ffmpeg so that it is on PATH, or run `npm install @ffmpeg-installer/ffmpeg`.',
    )
    this.name = 'FfmpegMissing'
  }
}

/** ffmpeg from PATH, else from its package, as a name or a path; the first that knows H.264 and AAC. Throws `FfmpegMissing`. */
export async function findFfmpeg(
  candidates: readonly (() => Promise<string>)[] = [async () => 'ffmpeg', packagedFfmpeg],
): Promise<string> {
  for (const candidate of candidates) {
    const path = await candidate().catch(() => null)
    if (path !== null && (await encodes(path))) return path
  }
  throw new FfmpegMissing()
}

/** npm drops an optional package that failed without a word, so only importing it tells. */
async function packagedFfmpeg(): Promise<string> {
  const { default: installed } = await import('@ffmpeg-installer/ffmpeg')
  return installed.path
}

async function encodes(path: string): Promise<boolean> {
  const pieces: Buffer[] = []
  const end = await runProgram(path, {
    args: ['-hide_banner', '-encoders'],
    onOutput: piece => pieces.push(piece),
    ...{ outputBytes: encoderListBytes, timeoutMs: findMs, signal: new AbortController().signal },
  }).catch(() => null)
  if (end?.kind !== 'exited' || end.code !== 0) return false
  const list = Buffer.concat(pieces).toString()
  return / libx264 /.test(list) && / aac /.test(list)
}
