import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { npm } from './npm.ts'

export interface Packed {
  path: string
  bytes: number
  unpackedBytes: number
  files: number
}

/** `npm pack` of what is built; `dist` must be there. */
export async function pack(root: string, folder: string): Promise<Packed> {
  const stdout = await npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root)
  const [packed] = JSON.parse(stdout) as [{ filename: string; size: number; unpackedSize: number; entryCount: number }]
  const { filename, size, unpackedSize, entryCount } = packed
  return { path: join(folder, filename), bytes: size, unpackedBytes: unpackedSize, files: entryCount }
}

/** Installs into a new folder, as a stranger would; answers the names of all packages that came along. */
export async function install(folder: string, what: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  await npm(['install', '--no-audit', '--no-fund', '--no-save', what], folder)
  return packagesIn(join(folder, 'node_modules'))
}

async function packagesIn(modules: string): Promise<string[]> {
  const names = (await readdir(modules)).filter(name => !name.startsWith('.'))
  const found = names.map(async name =>
    name.startsWith('@') ? (await readdir(join(modules, name))).map(inner => `${name}/${inner}`) : [name],
  )
  return (await Promise.all(found)).flat().sort()
}
