import { chmod, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { OutputChunk } from 'rolldown'
import { pageChunks } from '../generators/pages.ts'
import { bundle } from './bundle.ts'
import { declarations } from './declarations.ts'
import { writeSupportedNode } from './supported-node.ts'
import { billOfMaterials, bundledPackages, thirdPartyNotice } from './third-party.ts'

/** Files that a bundled package reads next to its own code. */
const beside = ['node_modules/tiny-secp256k1/lib/secp256k1.wasm']

/**
 * Writes all of `dist`, and replaces the previous one when it is complete: a running or packing process never sees half
 * of it, and two concurrent builds end with one of theirs. Returns the chunks of the bundle. Only programs in TypeScript
 * read the types, which take most of the time.
 */
export async function buildPackage(
  root: string,
  dist = join(root, 'dist'),
  { hasTypes = true } = {},
): Promise<OutputChunk[]> {
  await mkdir(dirname(dist), { recursive: true })
  const part = await mkdtemp(join(dirname(dist), '.dist-'))
  try {
    const chunks = await bundle(root, part)
    // A page's script is a text in the bundle, so the packages in it are listed separately.
    const packages = await bundledPackages([...chunks, ...(await pageChunks())])
    await writeFile(join(part, 'THIRD-PARTY.txt'), await thirdPartyNotice(packages))
    await writeFile(join(part, 'sbom.cdx.json'), await billOfMaterials(root, packages))
    await writeSupportedNode(root, part)
    for (const path of beside) await copyFile(join(root, path), join(part, basename(path)))
    if (hasTypes) await declarations(root, part)
    // A folder of `mkdtemp` is readable only by its owner, but the package must be readable by everyone.
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
