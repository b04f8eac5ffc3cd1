import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './pages.ts'

/**
 * Runs a program of a document as a user would: in a folder of its own, with the packages that it imports. Returns what
 * it prints, and throws what it fails with.
 */
export async function runProgram(text: string, ...args: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-program-'))
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
    await writeFile(join(folder, 'program.mjs'), text)
    const { PATH = '' } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs', ...args], {
      cwd: folder,
      env: { PATH, HOME: folder },
    })
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
