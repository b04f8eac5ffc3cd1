import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { doors } from './entries.ts'
import { publicComments } from './public-comments.ts'
import { type PackageImports, relativeSpecifiers } from './specifiers.ts'

/** Writes the doors' declarations to `types` in `dist`, with specifiers that resolve inside the package, and no others. */
export async function declarations(root: string, dist: string): Promise<void> {
  const { imports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { imports: PackageImports }
  const types = join(dist, 'types')
  const complaints = await emit(root, types)
  const shown = new Set<string>()
  const show = async (path: string, from: readonly string[]): Promise<void> => {
    if (shown.has(path)) return
    shown.add(path)
    const way = [...from, path]
    const { text, leadsTo } = relativeSpecifiers(way, await readFile(join(types, path), 'utf8'), imports)
    await writeFile(join(types, path), publicComments(path, text))
    for (const next of leadsTo) await show(next, way)
  }
  const declarationOf = (path: string): string => path.replace(/\.ts$/, '.d.ts')
  const inTheWay = complaints.filter(({ path }) => path === null)
  if (inTheWay.length === 0) for (const door of Object.values(doors)) await show(declarationOf(door), [])
  // A private file may have types that no declaration can name; one that is shown may not.
  const serious = complaints.filter(({ path }) => path === null || shown.has(declarationOf(path)))
  if (serious.length > 0) {
    throw new Error(`The declarations cannot be written:\n${serious.map(({ line }) => line).join('\n')}`)
  }
  for (const path of globSync('**/*.d.ts', { cwd: types })) {
    if (!shown.has(path.replaceAll('\\', posix.sep))) await rm(join(types, path))
  }
}

interface Complaint {
  /** From the root; null where no file of ours is to blame. */
  path: string | null
  line: string
}

async function emit(root: string, outDir: string): Promise<Complaint[]> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 }
  try {
    await promisify(execFile)(
      process.execPath,
      [tsc, '-p', join(root, 'tsconfig.types.json'), '--outDir', outDir],
      options,
    )
    return []
  } catch (error) {
    const { stdout, message } = error as { stdout?: string; message: string }
    // Further lines of a complaint are indented.
    const lines = (stdout || message).split('\n').filter(line => /^\S/.test(line))
    return lines.map(line => ({ path: /^(\S+?)\(\d+,\d+\): /.exec(line)?.[1]?.replaceAll('\\', '/') ?? null, line }))
  }
}
