/**
 * Measures the time from the start of the packed service to its first answer, on an empty ledger and on the ledger of a
 * killed service.
 */
import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolder } from '#cli/data/data-folder.ts'
import { freePort } from '../test/postgres/cluster.ts'
import { type Figure, finish, inTurn, type Line, median } from './kit/figures.ts'
import { leaveHolds } from './kit/fill-ledger.ts'
import { pinLoad, treeCpuMicrosOf } from './kit/machine.ts'
import { MockUpstream } from './kit/mock-upstream.ts'
import { benchOptions } from './kit/options.ts'
import { type Installation, prepareService, readyPath, withProduct } from './kit/product.ts'
import { type ServerCommand, ServerProcess } from './kit/server-process.ts'

const options = benchOptions()
const { rounds, warmUpRounds, holds } = options.isShort
  ? { rounds: 1, warmUpRounds: 0, holds: 100 }
  : { rounds: 7, warmUpRounds: 2, holds: 10_000 }

interface Start {
  name: string
  command: ServerCommand
  /** Restores what the previous start has changed. */
  before(): Promise<void>
}

const metrics = { wall: 'start to the first 200, ms', cpu: 'CPU until then, ms' } as const
const load = 'one start'
const empty = 'serve, empty ledger'
const leftOpen = `serve, ${holds.toLocaleString('en')} open holds`
const trial = 'up'
const bareNode = 'bare undici pipe'

pinLoad()
await withProduct(options.product, installation => finish('start', options, () => measure(installation)))

async function measure(installation: Installation): Promise<{ figures: Figure[]; goals: Line[] }> {
  const upstream = await MockUpstream.start()
  try {
    const starts = [
      await serveOn(installation, empty, upstream.port, 0),
      await serveOn(installation, leftOpen, upstream.port, holds),
      await upIn(installation),
      await bare(upstream.port),
    ]
    process.stderr.write(`Starting ${starts.map(({ name }) => name).join('; ')} in turn.\n`)
    await inTurn(starts, warmUpRounds, startOnce)
    const measured = await inTurn(starts, rounds, startOnce)
    const figures = starts.flatMap(({ name: side }, index): Figure[] => {
      const of = measured[index] ?? []
      return [
        { load, side, metric: metrics.wall, rounds: of.map(({ wallMs }) => wallMs) },
        { load, side, metric: metrics.cpu, rounds: of.map(({ cpuMs }) => cpuMs) },
      ]
    })
    return { figures, goals: goalsOf(figures) }
  } finally {
    await upstream.close()
  }
}

/** Runs the service on a folder that is kept; its ledger is reset before each start. */
async function serveOn(installation: Installation, name: string, upstreamPort: number, left: number): Promise<Start> {
  const { port, data, config, accounts, env } = await prepareService({ ...installation, name, upstreamPort })
  const { database } = dataFolder(data)
  if (left) await leaveHolds(`sqlite:${database}`, accounts, left)
  const kept = join(installation.folder, `${left}-holds.db`)
  await copyFile(database, kept)
  return {
    name,
    command: { name, port, readyPath, args: [installation.launcher, 'serve', '--config', config], env },
    async before() {
      for (const end of ['-wal', '-shm']) await rm(`${database}${end}`, { force: true })
      await copyFile(kept, database)
    },
  }
}

async function upIn({ launcher, folder }: Installation): Promise<Start> {
  const port = await freePort()
  const data = join(folder, 'up')
  await mkdir(data)
  const args = [launcher, 'up', '--no-journey', '--no-local-models', '--json', '--port', `${port}`, '--data', data]
  return { name: trial, command: { name: trial, port, readyPath, args }, before: async () => undefined }
}

/** The cost of Node and an HTTP client alone. */
async function bare(upstreamPort: number): Promise<Start> {
  const port = await freePort()
  const args = [join(import.meta.dirname, 'kit/bare-pipe.ts'), `${port}`, `http://127.0.0.1:${upstreamPort}`]
  return { name: bareNode, command: { name: bareNode, port, readyPath: '/', args }, before: async () => undefined }
}

async function startOnce({ command, before }: Start): Promise<{ wallMs: number; cpuMs: number }> {
  await before()
  const startedAt = performance.now()
  const server = await ServerProcess.start(command)
  try {
    return { wallMs: performance.now() - startedAt, cpuMs: treeCpuMicrosOf(server.pid) / 1000 }
  } finally {
    await server.stop()
  }
}

function goalsOf(figures: readonly Figure[]): Line[] {
  const of = (side: string) =>
    median(figures.find(each => each.metric === metrics.wall && each.side === side)?.rounds ?? [])
  return [
    { what: 'serve on an empty ledger', value: of(empty), atMost: 200, unit: ' ms' },
    { what: `${leftOpen}`, value: of(leftOpen), atMost: 600, unit: ' ms' },
  ]
}
