import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packExtension } from '@anthropic-ai/mcpb'
import { bundle } from '../build/bundle.ts'
import { writeSupportedNode } from '../build/supported-node.ts'
import { bundledPackages, thirdPartyNotice } from '../build/third-party.ts'
import { addKeychain, everyMachine } from './keychain-packages.ts'

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
