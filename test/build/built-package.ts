import { existsSync } from 'node:fs'
import { cp, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildPackage } from '../../scripts/build/build-package.ts'
import { runFolderVariable } from '../canary/run-folder.ts'

const pollMs = 200

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Copies what runs of what `npm run build` makes to `dist`; it is built once for all files of a run of tests. */
export async function copyBuiltPackage(dist: string): Promise<void> {
  await cp(await builtPackage(), dist, { recursive: true })
}

export async function builtPackage(): Promise<string> {
  const runFolder = process.env[runFolderVariable]
  if (!runFolder) throw new Error('Every run of tests has a folder.')
  const built = join(runFolder, 'built-package')
  const building = join(runFolder, 'building-package')
  while (!existsSync(built)) {
    if (await isOurTurn(building)) await build(built).finally(() => rm(building, { recursive: true }))
    else await sleep(pollMs)
  }
  return join(built, 'dist')
}

/** A build keeps all processors busy, so a second file of tests waits for that of the first. */
const isOurTurn = (building: string): Promise<boolean> =>
  mkdir(building).then(
    () => true,
    () => false,
  )

async function build(built: string): Promise<void> {
  if (existsSync(built)) return
  await buildPackage(root, join(`${built}-part`, 'dist'), { hasTypes: false })
  await rename(`${built}-part`, built)
}
