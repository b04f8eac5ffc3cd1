import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { probeMs } from '../bounds.ts'
import { encoderEnvironment } from './encoder-environment.ts'

export interface Encoder {
  /** A name on PATH or a file. */
  path: string
}

/** Nothing on this machine encodes H.264. */
export class EncoderMissing extends Error {
  constructor() {
    super(
      'No video encoder was found: install ffmpeg so that it is on PATH, or run `npm install @ffmpeg-installer/ffmpeg`.',
    )
    this.name = 'EncoderMissing'
  }
}

const run = promisify(execFile)

/** ffmpeg from PATH, else from its package; the first that knows H.264 and AAC. Throws `EncoderMissing`. */
export async function findEncoder(
  candidates: readonly (() => Promise<string>)[] = [async () => 'ffmpeg', packagedEncoder],
): Promise<Encoder> {
  for (const candidate of candidates) {
    const path = await candidate().catch(() => null)
    if (path !== null && (await encodes(path))) return { path }
  }
  throw new EncoderMissing()
}

/** npm drops an optional package that failed without a word, so only importing it tells. */
async function packagedEncoder(): Promise<string> {
  const { default: installed } = await import('@ffmpeg-installer/ffmpeg')
  return installed.path
}

async function encodes(path: string): Promise<boolean> {
  const options = { timeout: probeMs, env: encoderEnvironment(), windowsHide: true, maxBuffer: 1024 * 1024 }
  const answer = await run(path, ['-hide_banner', '-encoders'], options).catch(() => null)
  return answer !== null && / libx264 /.test(answer.stdout) && / aac /.test(answer.stdout)
}
