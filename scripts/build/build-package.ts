import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { declarations } from './declarations.ts'
import { thirdPartyNotice } from './third-party.ts'

/** Writes all of `dist`, after removing what was there. Answers what the bundle weighs. */
export async function buildPackage(root: string, dist = join(root, 'dist')): Promise<{ files: number; bytes: number }> {
  await rm(dist, { recursive: true, force: true })
  const metafile = await bundle(root, dist)
  await writeFile(join(dist, 'THIRD-PARTY.txt'), await thirdPartyNotice(root, metafile))
  await declarations(root, dist)
  const outputs = Object.values(metafile.outputs)
  return { files: outputs.length, bytes: outputs.reduce((sum, output) => sum + output.bytes, 0) }
}
