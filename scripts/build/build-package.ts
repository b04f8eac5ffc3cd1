import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { OutputChunk } from 'rolldown'
import { bundle } from './bundle.ts'
import { declarations } from './declarations.ts'
import { writeSupportedNode } from './supported-node.ts'

/** Files that a bundled package reads beside the code that it is part of. */
const beside = ['node_modules/tiny-secp256k1/lib/secp256k1.wasm']

/**
 * Writes all of `dist`, and puts it in the place of what was there once it is whole: who runs or packs the old one sees no
 * half of the new one, and two builds at once end with one of theirs. Answers the chunks of the bundle.
 */
export async function buildPackage(root: string, dist = join(root, 'dist')): Promise<OutputChunk[]> {
  await mkdir(dirname(dist), { recursive: true })
  const part = await mkdtemp(join(dirname(dist), '.dist-'))
  try {
    const chunks = await bundle(root, part)
    await writeFile(join(part, 'THIRD-PARTY.txt'), await thirdPartyNotice(chunks))
    await writeSupportedNode(root, part)
    for (const path of beside) await copyFile(join(root, path), join(part, basename(path)))
    await declarations(root, part)
    // A folder of `mkdtemp` is its owner's alone; a package is for whoever may read the rest.
    await chmod(part, 0o755)
    await putInPlace(part, dist)
    return chunks
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

/** Builds that may finish between two renames of this one. */
const attempts = 5

async function putInPlace(part: string, dist: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const old = `${part}-old-${attempt}`
    try {
      await rename(dist, old).catch(ignoring('ENOENT'))
      await rename(part, dist)
      return
    } catch (error) {
      if (attempt === attempts || !isCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
    } finally {
      await rm(old, { recursive: true, force: true })
    }
  }
}

const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.includes(String((error as NodeJS.ErrnoException).code))

const ignoring = (code: string) => (error: unknown) => {
  if (!isCode(error, code)) throw error
}

interface Manifest {
  name: string
  version: string
  license?: string
}

const RULE = `\n\n${'-'.repeat(80)}\n\n`

/** The licences of all packages that are part of the bundle. A package without a licence stops the build. */
export async function thirdPartyNotice(chunks: readonly OutputChunk[]): Promise<string> {
  const folders = new Set(chunks.flatMap(({ moduleIds }) => moduleIds).flatMap(path => packageFolder(path) ?? []))
  const notices = await Promise.all([...folders].sort().map(notice))
  return `farebox contains the following packages in its bundle.${RULE}${notices.join(RULE)}\n`
}

function packageFolder(path: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))?.[1]
}

async function notice(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
  const names = await readdir(folder)
  const files = names.filter(name => /^(licen[cs]e|notice|copying)(\.|-|$)/i.test(name)).sort()
  if (files.length === 0 && !manifest.license) {
    throw new Error(`${manifest.name} states no licence: leave it out of the bundle`)
  }
  const texts = await Promise.all(files.map(name => readFile(join(folder, name), 'utf8')))
  const head = `${manifest.name} ${manifest.version} (${manifest.license ?? 'see below'})`
  return [head, ...texts.map(text => text.trim())].join('\n\n')
}
