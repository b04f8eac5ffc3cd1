import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const source = join(import.meta.dirname, 'shim.c')

/** Why nothing can be recorded here, in a sentence; null if it can. */
export function whyNoShim(): string | null {
  if (process.platform !== 'linux') return 'Writes can be recorded on Linux alone, by a library that is preloaded.'
  if (spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0) return null
  return 'Writes are recorded by a small library in C: install a C compiler, so that `cc` is on PATH (apt-get install gcc).'
}

/** Compiles the library into this folder and answers its path. Throws the compiler's words. */
export function buildShim(folder: string): string {
  const why = whyNoShim()
  if (why) throw new Error(why)
  const library = join(folder, 'shim.so')
  const built = spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-lpthread'], { encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`The recording library could not be compiled: ${built.stderr}`)
  return library
}
