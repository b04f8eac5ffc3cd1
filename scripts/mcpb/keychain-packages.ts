import { spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The library of the system keychain, which is an addon in a package of its own for each kind of machine. */
const library = '@napi-rs/keyring'

/** The platforms of desktop assistants, by that library's names. */
export const everyMachine: readonly string[] = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-x64-gnu',
  'win32-arm64-msvc',
  'win32-x64-msvc',
]

/** Keeps the addon, the code that loads it and its licence; leaves out types and the second entry point. */
const isCarried = (path: string): boolean => !/\.(md|d\.ts)$|keytar\.js$/.test(path)

/**
 * Puts the keychain's library with its addons for these machines into `stage`. npm fetches them by the releases and the
 * hashes of our own lock file, also those that it would not install on this machine.
 */
export async function addKeychain(root: string, stage: string, machines = everyMachine): Promise<void> {
  const names = [library, ...machines.map(machine => `${library}-${machine}`)]
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const work = `${stage}.keychain`
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { recursive: true })
  const locked = names.map(name => [name, lockedOf(packages, name)] as const)
  const dependencies = Object.fromEntries(locked.map(([name, { version }]) => [name, version]))
  const description = { name: 'keychain', version: '0.0.0', private: true, dependencies }
  const entries = locked.map(([name, entry]) => [`node_modules/${name}`, entry])
  const lock = { ...description, lockfileVersion: 3, packages: { '': description, ...Object.fromEntries(entries) } }
  await writeFile(join(work, 'package.json'), JSON.stringify(description))
  await writeFile(join(work, 'package-lock.json'), JSON.stringify(lock))
  // `--force` allows addons for other machines; npm still checks the hashes.
  const args = ['ci', '--force', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  const { status } = spawnSync('npm', args, { cwd: work, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) throw new Error('npm cannot fetch the keychain’s packages; connect to the registry and try again.')
  for (const name of names) {
    const from = join(work, 'node_modules', name)
    await cp(from, join(stage, 'node_modules', name), { recursive: true, filter: isCarried })
  }
  await rm(work, { recursive: true, force: true })
}

interface Locked {
  version: string
  integrity: string
}

interface Lock {
  packages: Readonly<Record<string, Locked | undefined>>
}

function lockedOf(packages: Lock['packages'], name: string): Locked {
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version && integrity) return { version, integrity }
  throw new Error(`package-lock.json does not have ${name} with its hash.`)
}
