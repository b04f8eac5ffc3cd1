import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** How long npm may take, in milliseconds. */
const installMs = 180_000

interface Packed {
  path: string
  bytes: number
  unpackedBytes: number
  files: number
}

/** Runs `npm pack` on what is built; `dist` must exist. */
export async function pack(root: string, folder: string): Promise<Packed> {
  const stdout = await npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root)
  const [packed] = JSON.parse(stdout) as [{ filename: string; size: number; unpackedSize: number; entryCount: number }]
  const { filename, size, unpackedSize, entryCount } = packed
  return { path: join(folder, filename), bytes: size, unpackedBytes: unpackedSize, files: entryCount }
}

/** Installs into a new folder, as a user would; returns the names of all installed packages. */
export async function install(folder: string, what: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  await npm(['install', '--no-audit', '--no-fund', '--no-save', what], folder)
  return packagesIn(join(folder, 'node_modules'))
}

/** Next to the other optional packages, because `npm ci` empties node_modules. */
const cache = fileURLToPath(new URL('../../.peers/bench/', import.meta.url))

type Versions = Readonly<Record<string, string>>

/** Where packages that only a benchmark needs are kept; `overrides` are those of package.json. */
export function peersFolder(name: string, packages: Versions, overrides: Versions = {}): string {
  const versions = Object.entries({ ...packages, ...overrides }).map(([each, version]) => `${each}@${version}`)
  return join(cache, [name, ...versions].join('+').replaceAll('/', '-'))
}

/** Installs them from the registry the first time. Returns the path of their node_modules. */
export async function installPeers(name: string, packages: Versions, overrides: Versions = {}): Promise<string> {
  const folder = peersFolder(name, packages, overrides)
  if (!existsSync(folder)) {
    const part = `${folder}.${process.pid}`
    await mkdir(part, { recursive: true })
    await writeFile(join(part, 'package.json'), JSON.stringify({ private: true, dependencies: packages, overrides }))
    await npm(['install', '--no-audit', '--no-fund', '--ignore-scripts'], part)
    // If two install at once, one is kept.
    await rename(part, folder).catch(() => rm(part, { recursive: true, force: true }))
  }
  return join(folder, 'node_modules')
}

async function packagesIn(modules: string): Promise<string[]> {
  const names = (await readdir(modules)).filter(name => !name.startsWith('.'))
  const found = names.map(async name =>
    name.startsWith('@') ? (await readdir(join(modules, name))).map(inner => `${name}/${inner}`) : [name],
  )
  return (await Promise.all(found)).flat().sort()
}

const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/

/** Runs the npm that started this, or the one on the PATH. Resolves to its stdout. */
async function npm(args: readonly string[], cwd: string): Promise<string> {
  const own = process.env.npm_execpath
  const [program, before] = own ? [process.execPath, [own]] : ['npm', []]
  try {
    const run = promisify(execFile)
    // A silent `npm run` would pass its silence on, and hide the reason of a failure.
    const { stdout } = await run(program, [...before, ...args, '--loglevel=error'], {
      cwd,
      timeout: installMs,
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout
  } catch (error) {
    const { stderr = '', message, killed } = error as { stderr?: string; message: string; killed?: boolean }
    if (killed || UNREACHABLE.test(stderr)) {
      throw new Error(
        'The npm registry cannot be reached, and this benchmark installs the packed farebox and its peers from it. See `npm config get registry` and try again.',
      )
    }
    throw new Error(`npm ${args[0]} failed:\n${stderr || message}`)
  }
}
