import { spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packExtension } from '@anthropic-ai/mcpb'
import { bundle } from '../build/bundle.ts'
import { writeSupportedNode } from '../build/supported-node.ts'
import { bundledPackages, thirdPartyNotice } from '../build/third-party.ts'

/** Files that the bundle contains unchanged. */
const carried = ['manifest.json', 'icon.png', 'LICENSE', 'README.md', 'docs/privacy.md', 'bin/farebox.mjs']

/** Programs, libraries and addons for one kind of machine; the bundle is for all of them, so only the keychain has any. */
const nativeFile = /\.(node|so|dylib|dll|exe|a)(\.\d+)*$/

/** The part of zod that Node runs. Programs share zod with farebox, so the bundle keeps it as a package. */
const runsOnNode = (path: string): boolean => !/\.(ts|cts|mts|map|cjs|md)$|[\\/]zod[\\/]src([\\/]|$)/.test(path)

/**
 * Collects the files of an MCPB bundle in the folder `stage`, with the keychain's addons for these machines, and packs
 * them into `file`. Throws if the manifest is invalid, or if there is any other native file.
 */
export async function packBundle(root: string, stage: string, file: string, machines = everyMachine): Promise<void> {
  await rm(stage, { recursive: true, force: true })
  await mkdir(stage, { recursive: true })
  for (const path of carried) await cp(join(root, path), join(stage, path))
  const dist = join(stage, 'dist')
  const chunks = await bundle(root, dist)
  await writeSupportedNode(root, dist)
  await writeFile(join(dist, 'THIRD-PARTY.txt'), await thirdPartyNotice(await bundledPackages(chunks)))
  await writeFile(join(stage, 'package.json'), await packageDescription(root))
  await cp(join(root, 'node_modules/zod'), join(stage, 'node_modules/zod'), {
    recursive: true,
    dereference: true,
    filter: path => {
      if (nativeFile.test(path)) throw new Error(`${path} is a native file: the bundle is for all machines`)
      return runsOnNode(path)
    },
  })
  await addKeychain(root, stage, machines)
  if (!(await packExtension({ extensionPath: stage, outputPath: file, silent: true }))) {
    throw new Error('The bundle cannot be packed: run `npx mcpb validate manifest.json`.')
  }
}

/** Without scripts and development packages, because the unpacked bundle is neither built nor installed. */
async function packageDescription(root: string): Promise<string> {
  const { name, version, description, license, type, engines, dependencies } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  ) as Record<string, unknown>
  return `${JSON.stringify({ name, version, description, license, type, engines, dependencies }, null, 2)}\n`
}

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
async function addKeychain(root: string, stage: string, machines = everyMachine): Promise<void> {
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
