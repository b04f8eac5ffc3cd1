import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtPackage } from './built-package.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The launcher of the package as users install it, built once for all files of a run of tests, beside the packages of
 * this clone. It starts with a third of the processor time that the source takes.
 */
export const launcher = join(await builtProduct(), 'bin', 'farebox.mjs')

async function builtProduct(): Promise<string> {
  const folder = join(await builtPackage(), '..')
  const installed = join(folder, 'node_modules', 'farebox')
  if (!existsSync(installed)) await install(folder, installed)
  return installed
}

/** Two files of tests may do this at once; the first to finish is used. */
async function install(folder: string, installed: string): Promise<void> {
  const part = join(folder, `installing-${process.pid}`)
  await mkdir(part)
  for (const name of ['bin', 'package.json']) await cp(join(root, name), join(part, name), { recursive: true })
  await symlink(join(folder, 'dist'), join(part, 'dist'), 'dir')
  await mkdir(join(folder, 'node_modules'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name.startsWith('.')) continue
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'dir').catch(ignoreExisting)
  }
  await rename(part, installed).catch(ignoreExisting)
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error
}
