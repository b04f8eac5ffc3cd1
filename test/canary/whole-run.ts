/**
 * Searches a whole run of tests for the canaries: every temporary folder before it is removed, the command lines of all
 * processes, and everything that is printed. What each test's processes and sockets say is searched where the test runs.
 */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { runFolderVariable, setAsideIn } from './run-folder.ts'
import { PieceSearch } from './search.ts'
import { canariesBelow } from './search-files.ts'

export default function setup(): () => Promise<void> {
  const found = new Set<string>()
  const parent = quickFolder()
  removeLeftFolders(parent)
  const folder = mkdtempSync(join(parent, `farebox-run-${process.pid}-`))
  // A database of a test runs as another user.
  chmodSync(folder, 0o711)
  mkdirSync(setAsideIn(folder))
  // A process or thread that a test starts finds its modules compiled; without this, compiling them is half of a run.
  const compiled = fileURLToPath(new URL('../../node_modules/.cache/farebox', import.meta.url))
  Object.assign(process.env, { TMPDIR: folder, [runFolderVariable]: folder, NODE_COMPILE_CACHE: compiled })
  const printed = watchPrinted(found)
  const threads = [startThread('./set-aside.ts', { folder: setAsideIn(folder) }, found)]
  if (process.platform === 'linux') threads.push(startThread('./command-lines.ts', {}, found))
  return async () => {
    await Promise.all(threads.map(stop => stop()))
    for (const sentence of canariesBelow(folder)) found.add(sentence)
    // What tests keep for people to read.
    for (const sentence of canariesBelow(fileURLToPath(new URL('../mcp', import.meta.url)))) found.add(sentence)
    printed()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    if (found.size === 0) return
    process.exitCode = 1
    throw new Error(`A secret of the tests came out:\n${[...found].join('\n')}`)
  }
}

const memoryFolder = '/dev/shm'

/** A run has some hundred megabytes at a time. */
const roomBytes = 4 * 1024 ** 3

/** In memory where this machine has such a folder, because on a disk the tests wait for thousands of syncs. */
function quickFolder(): string {
  if (process.env.TMPDIR || process.platform !== 'linux') return tmpdir()
  const mounted = readFileSync('/proc/mounts', 'utf8').split('\n')
  const options = mounted.find(line => line.split(' ')[1] === memoryFolder)?.split(' ')[3]
  // Some tests load a library that they have compiled.
  if (options === undefined || /\b(ro|noexec)\b/.test(options)) return tmpdir()
  const { bavail, bsize } = statfsSync(memoryFolder)
  return Math.min(bavail * bsize, freemem()) < roomBytes ? tmpdir() : memoryFolder
}

/** A run that was killed has left its folder, which may be in memory. */
function removeLeftFolders(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = /^farebox-run-(\d+)-/.exec(name)?.[1]
    if (!pid || isRunning(Number(pid))) continue
    try {
      rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // It is another user's.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function startThread(name: string, workerData: unknown, found: Set<string>): () => Promise<void> {
  const thread = new Worker(new URL(name, import.meta.url), { workerData })
  thread.on('message', sentence => void found.add(String(sentence)))
  const ended = new Promise<void>((resolve, reject) => {
    thread.once('exit', () => resolve())
    thread.once('error', reject)
  })
  ended.catch(() => {})
  return () => {
    thread.postMessage('end')
    return ended
  }
}

function watchPrinted(found: Set<string>): () => void {
  const undo = [process.stdout, process.stderr].map(stream => {
    const search = new PieceSearch()
    const write = stream.write
    stream.write = function (this: typeof stream, ...args: unknown[]) {
      const [piece] = args
      const name = search.next(typeof piece === 'string' ? Buffer.from(piece) : (piece as Uint8Array))
      if (name !== null) found.add(`What the tests printed holds ${name}.`)
      return Reflect.apply(write, stream, args)
    } as typeof stream.write
    return () => {
      stream.write = write
    }
  })
  return () => {
    for (const each of undo) each()
  }
}
