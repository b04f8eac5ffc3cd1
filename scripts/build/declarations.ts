import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { doors } from './entries.ts'
import { type PackageImports, relativeSpecifiers } from './specifiers.ts'

/** Writes the doors' declarations to `dist/types`, with specifiers that resolve inside the package, and no others. */
export async function declarations(root: string): Promise<void> {
  await emit(root)
  const { imports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { imports: PackageImports }
  const types = join(root, 'dist/types')
  const shown = new Set<string>()
  const show = async (path: string): Promise<void> => {
    if (shown.has(path)) return
    shown.add(path)
    const { text, leadsTo } = relativeSpecifiers(path, await readFile(join(types, path), 'utf8'), imports)
    await writeFile(join(types, path), text)
    for (const next of leadsTo) await show(next)
  }
  for (const door of Object.values(doors)) await show(door.replace(/\.ts$/, '.d.ts'))
  for (const path of globSync('**/*.d.ts', { cwd: types })) {
    if (!shown.has(path.replaceAll('\\', posix.sep))) await rm(join(types, path))
  }
}

async function emit(root: string): Promise<void> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'tsconfig.types.json')], { cwd: root }).catch(
    (error: { stdout?: string; message: string }) => {
      throw new Error(`The declarations cannot be written:\n${error.stdout || error.message}`)
    },
  )
}
