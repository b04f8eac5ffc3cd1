import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bytesACut, cutsAKill, grownBytesGoal, wireGoal } from '../bounds.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { seeded } from '../seeded.ts'
import { hashOfContent, hashOfFile } from './content.ts'
import { cuttingServer } from './cutting-server.ts'
import type { MemoryTold } from './downloading-child.ts'

const child = fileURLToPath(new URL('./downloading-child.ts', import.meta.url))

/** One download whose connection is cut so often, and whose process is killed at every twentieth of that. */
export async function downloadRun({ count, seed, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const order = { bytes: count * bytesACut, cuts: count, kills: Math.ceil(count / cutsAKill), seed, folder }
  const came = await cutDownload({ ...order, say, onStop })
  const share = came.wireBytes / order.bytes
  const failures = [
    ...came.failures,
    ...(share > wireGoal ? [`${share.toFixed(4)} times the file went over the wire, not ${wireGoal}.`] : []),
    ...(came.grownBytes > grownBytesGoal ? [`It took ${inMiB(came.grownBytes)} of memory.`] : []),
  ]
  const rows: [string, string][] = [
    ['file', inMiB(order.bytes)],
    ['cuts', `${came.cuts} of ${order.cuts}`],
    ['kills', `${came.kills} of ${order.kills}`],
    ['requests', `${came.starts.length}`],
    ['over the wire', `${share.toFixed(4)} times the file`],
    ['memory grown by', inMiB(came.grownBytes)],
    ['seconds', (came.tookMs / 1000).toFixed(1)],
  ]
  return { isWell: failures.length === 0, lines: [...rowsAsLines(rows), ...failuresAsLines(failures)] }
}

const inMiB = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`

export interface CutDownload {
  bytes: number
  cuts: number
  kills: number
  seed: number
  folder: string
  say(line: string): void
  onStop(end: () => Promise<void>): void
}

/** What came of it; `failures` are sentences on the file itself. */
export async function cutDownload({ bytes, cuts, kills, seed, folder, say, onStop }: CutDownload) {
  const draw = seeded(seed, 'download')
  const anywhere = () => 1 + draw.below(bytes - 1)
  let running: ChildProcess | undefined
  let killed = 0
  const server = await cuttingServer(bytes, {
    cuts: Array.from({ length: cuts }, anywhere),
    kills: Array.from({ length: kills }, anywhere),
    onKill: () => void running?.kill('SIGKILL'),
  })
  const end = async () => {
    running?.kill('SIGKILL')
    await server.close()
  }
  onStop(end)
  const path = join(folder, 'video.mp4')
  const startedMs = performance.now()
  let grownBytes = 0
  let code: unknown
  do {
    const forked = fork(child, [server.url, path, join(folder, '.video.part')], {
      execArgv: ['--expose-gc'],
      stdio: 'inherit',
    })
    running = forked
    forked.on('message', told => {
      grownBytes = Math.max(grownBytes, (told as MemoryTold).grownBytes)
    })
    const [exit, signal] = await once(forked, 'exit')
    code = exit
    if (signal === 'SIGKILL') say(`${++killed} kills, ${server.cuts()} cuts`)
  } while (code === null && killed <= kills)
  const tookMs = performance.now() - startedMs
  running = undefined
  const failures = code === 0 ? await filesFailures(folder, path, bytes) : [`The download ended with ${code}.`]
  const came = { wireBytes: server.sentBytes(), cuts: server.cuts(), kills: killed, starts: server.starts() }
  await server.close()
  await rm(path, { force: true })
  return { ...came, grownBytes, tookMs, failures }
}

async function filesFailures(folder: string, path: string, bytes: number): Promise<string[]> {
  const names = await readdir(folder)
  const { size } = await stat(path)
  return [
    ...(names.length === 1 ? [] : [`The folder holds ${names.join(', ')}.`]),
    ...(size === bytes ? [] : [`It has ${size} bytes, not ${bytes}.`]),
    ...((await hashOfFile(path)) === hashOfContent(bytes) ? [] : ['It has other bytes than the file.']),
  ]
}
