/** Searches what a file of tests is told by its processes and sockets, and sets its folders aside for the whole run. */
import { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, expect } from 'vitest'
import { isTemporaryFolder, runFolderVariable, setAsideIn } from './run-folder.ts'
import { PieceSearch } from './search.ts'

/** Files that share a process share this too, since its listeners stay. */
const shared = globalThis as { foundCanaries?: Set<string> }
const isFirst = shared.foundCanaries === undefined
const found = shared.foundCanaries ?? new Set<string>()
shared.foundCanaries = found
const runFolder = process.env[runFolderVariable]

/** Reads along without starting the stream. */
function listenTo(stream: Readable, source: string): void {
  const { push } = stream
  const search = new PieceSearch()
  stream.push = (piece: unknown, ...rest: never[]) => {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    const name = bytes instanceof Uint8Array ? search.next(bytes) : null
    if (name !== null) found.add(`${source} held ${name}.`)
    return Reflect.apply(push, stream, [piece, ...rest])
  }
}

/** Instead of removing it. False where it is no such folder. */
function setAside(path: fs.PathLike): boolean {
  if (!runFolder || typeof path !== 'string' || !isTemporaryFolder(path, runFolder)) return false
  try {
    fs.renameSync(path, join(setAsideIn(runFolder), randomUUID()))
    return true
  } catch {
    return false
  }
}

function listen(): void {
  const children = ChildProcess.prototype as unknown as { spawn(options: { file?: string }): unknown }
  const { spawn } = children
  children.spawn = function (this: ChildProcess, options) {
    const started = Reflect.apply(spawn, this, [options])
    for (const [name, stream] of Object.entries({ stdout: this.stdout, stderr: this.stderr })) {
      if (stream) listenTo(stream, `The ${name} of ${options.file}`)
    }
    return started
  }

  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...args: never[]) {
    listenTo(this, 'An answer')
    return Reflect.apply(connect, this, args)
  } as typeof connect

  const { rmSync } = fs
  const { rm } = fs.promises
  fs.rmSync = (path, options) => void (setAside(path) || rmSync(path, options))
  fs.promises.rm = async (path, options) => void (setAside(path) || (await rm(path, options)))
  syncBuiltinESMExports()
}

if (isFirst) listen()
afterAll(() => {
  const ofThisFile = [...found]
  found.clear()
  expect(ofThisFile).toEqual([])
})
