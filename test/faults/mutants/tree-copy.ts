import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Patch, patched } from './mutant.ts'

export const root = join(import.meta.dirname, '..', '..', '..')

/** What a copy does not need: packages are linked. */
const left = new Set(['node_modules', '.git', 'dist', '.farebox'])

/** The repository in a folder of its own, where it may be broken. */
export class TreeCopy {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<TreeCopy> {
    const folder = await mkdtemp(join(tmpdir(), 'farebox-mutants-'))
    await cp(root, folder, { recursive: true, filter: path => path === root || !left.has(basename(path)) })
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    return new TreeCopy(folder)
  }

  /** Runs with these mistakes in it, and takes them out again. */
  async with<Value>(patches: readonly Patch[], run: () => Promise<Value>): Promise<Value> {
    const sources = new Map<string, string>()
    try {
      for (const patch of patches) {
        const path = join(this.folder, patch.file)
        const source = await readFile(path, 'utf8')
        if (!sources.has(path)) sources.set(path, source)
        await writeFile(path, patched(source, patch))
      }
      return await run()
    } finally {
      for (const [path, source] of sources) await writeFile(path, source)
    }
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true })
  }
}
