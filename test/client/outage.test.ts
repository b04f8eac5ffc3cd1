import { rmSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { machineNotes } from '#agent/state/machine-notes.ts'
import { Client } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { breakerCeiling } from '#client/limits.ts'
import { memorySharedNotes, type SharedNotes } from '#client/pace/shared-notes.ts'
import { listModels } from '#contract/operations/models.ts'
import { openState } from '#wallet/records/state.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type Fate, failingService } from './failing-service.ts'
import { seededRandom } from './seeded-random.ts'
import { VirtualTime } from './virtual-time.ts'

const callersOfOne = 16
/** Ten minutes pass within seconds; on a busy machine they may take longer. */
const longestMs = 60_000
const healthyMs = 10_000
const failingMs = 10 * 60_000

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close()
})

/** Notes of several processes in one state file, each with connections of its own. */
function notesOfProcesses(count: number, time: VirtualTime): SharedNotes[] {
  const folder = temporaryFolder('notes')
  closing.push(() => rmSync(folder, { recursive: true }))
  return Array.from({ length: count }, () => {
    const state = openState(folder)
    const notes = machineNotes(state, time)
    closing.push(() => state.close(), notes.close)
    return notes
  })
}

interface Trouble {
  seed: number
  notes: (time: VirtualTime) => SharedNotes[]
  /** While the service is down. */
  fate: (random: () => number) => Fate
  latencyMs: (random: () => number) => number
  /** A probe that was sent before has to end first. */
  recoveryMs?: number
}

/** Health, ten minutes of failure, health again; callers who never stop trying. */
async function liveThrough({ seed, notes, fate, latencyMs, recoveryMs = 15_000 }: Trouble) {
  const time = new VirtualTime()
  const random = seededRandom(seed)
  const startMs = time.now()
  const downMs = startMs + healthyMs
  const upMs = downMs + failingMs
  const endMs = upMs + recoveryMs
  const isDown = () => time.now() >= downMs && time.now() < upMs
  const service = failingService(time, {
    fate: () => (isDown() ? fate(random) : 200),
    latencyMs: () => (isDown() ? latencyMs(random) : 300 * random()),
  })
  const successes: { caller: number; atMs: number }[] = []
  const clients = notes(time).map(
    each =>
      new Client({
        baseUrl: 'https://service.example/api/v1',
        credential: { apiKey: 'k' },
        fetch: service.fetch,
        clock: time,
        notes: each,
        pause: time.pause,
        random,
      }),
  )
  for (const client of clients) closing.push(() => void client.close())
  const keepCalling = async (client: Client, caller: number) => {
    for (;;) {
      try {
        await client.call(listModels, { params: undefined, query: {}, body: undefined })
        successes.push({ caller, atMs: time.now() })
      } catch (error) {
        if (!(error instanceof Error)) throw error
        const atMs = error instanceof ClientError ? error.retryAtMs : null
        await time.pause(Math.max(0, (atMs ?? 0) - time.now()) + 4_000 * random())
      }
      await time.pause(1_000 * random())
    }
  }
  const callers = clients.flatMap(client => Array.from({ length: callersOfOne }, () => client))
  for (const [caller, client] of callers.entries()) void keepCalling(client, caller)
  await time.runUntil(endMs)
  const after = successes.filter(({ atMs }) => atMs >= upMs)
  return {
    told: service.told,
    before: successes.filter(({ atMs }) => atMs < downMs).length,
    callersServedAgain: new Set(after.map(({ caller }) => caller)).size,
    callers: callers.length,
  }
}

const oneProcess = () => [memorySharedNotes()]
const threeProcesses = (time: VirtualTime) => notesOfProcesses(3, time)
const anyFailure = (random: () => number): Fate =>
  ([400, 402, 404, 409, 429, 500, 502, 503, 'no answer'] as const)[Math.floor(random() * 9)] ?? 500
const halfOfThem = (random: () => number): Fate => (random() < 0.5 ? 200 : anyFailure(random))

type Row = [rule: string, trouble: Trouble]
const rows: Row[] = [
  [
    '16 callers whose calls all fail in one moment',
    { seed: 1, notes: oneProcess, fate: () => 500, latencyMs: () => 500 },
  ],
  [
    '16 callers and failures of every kind',
    { seed: 2, notes: oneProcess, fate: anyFailure, latencyMs: r => 20 + 900 * r() },
  ],
  [
    '16 callers and no answers, which count all the same',
    { seed: 3, notes: oneProcess, fate: () => 'no answer', latencyMs: r => 2_000 * r() },
  ],
  [
    '16 callers and answers that take half a minute',
    { seed: 4, notes: oneProcess, fate: anyFailure, latencyMs: r => 30_000 * r(), recoveryMs: 45_000 },
  ],
  [
    '16 callers where every other call fails',
    { seed: 5, notes: oneProcess, fate: halfOfThem, latencyMs: r => 300 * r() },
  ],
  [
    'three processes of 16 callers on one file',
    { seed: 6, notes: threeProcesses, fate: anyFailure, latencyMs: r => 20 + 900 * r() },
  ],
  [
    'three processes whose calls all fail in one moment',
    { seed: 7, notes: threeProcesses, fate: () => 503, latencyMs: () => 700 },
  ],
]

test.each(rows)(
  '%s: ten minutes of failure never reach the block, and calls succeed soon after',
  async (_, trouble) => {
    const { told, before, callersServedAgain, callers } = await liveThrough(trouble)
    expect(before).toBeGreaterThan(callers)
    expect(told).toMatchObject({ blocksBegun: 0, refusedByBlock: 0 })
    expect(told.mostUnderWay).toBeLessThanOrEqual(breakerCeiling)
    expect(callersServedAgain).toBeGreaterThan(callers / 2)
  },
  longestMs,
)
