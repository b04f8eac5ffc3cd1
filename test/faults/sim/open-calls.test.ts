/** No failure of the store leaves a call open, or something inside that would keep the service from stopping. */

import { beforeAll, describe, expect, test } from 'vitest'
import { StoreError } from '#ledger/store/store.ts'
import { loadChat } from '#service/capabilities/routes.ts'
import type { Caller } from './callers.ts'
import { streamedChat, wholeChat } from './calls/chat.ts'
import { newKeyedRequest, sendKeyed } from './calls/keyed.ts'
import { sendPayment, signPayment } from './calls/top-up.ts'
import { queueVideo } from './calls/video.ts'
import { begin, Visit } from './calls/visit.ts'
import { openCast } from './cast.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { Sometimes } from './sometimes.ts'
import { installVirtualMachines } from './virtual-machine.ts'
import { World } from './world.ts'

/** Shorter than any caller's patience, and longer than every engine, wait and repetition. */
const endsWithinMs = 240_000
/** What goes on for a caller who has left is over by then. */
const goesOnMs = 30_000
const stopsWithinMs = 20_000

/** Calls of the store that the longest of these calls makes, and a few more, which then belong to what runs beside it. */
const storeCalls = 12
const seeds = [1, 2]

type Run = (visit: Visit) => Promise<void>

const keyed = (kind: 'whole' | 'stream' | 'video'): Run => {
  return visit => {
    const { world, caller, draws } = visit
    let request = newKeyedRequest(world, caller, draws)
    while (request.kind !== kind) request = newKeyedRequest(world, caller, draws)
    return sendKeyed(visit, request, true)
  }
}

const calls: [what: string, run: Run][] = [
  ['a whole answer', wholeChat],
  ['a stream', streamedChat],
  ['a video', queueVideo],
  ['a whole answer under a key', keyed('whole')],
  ['a stream under a key', keyed('stream')],
  ['a video under a key', keyed('video')],
  ['a top-up', visit => sendPayment(visit, signPayment(visit.world, visit.caller, visit.draws))],
]

const failure = () => new StoreError('outcome_unknown', 'This store fails.')

/** From its n-th call on. A commit that fails may have been written or not. */
const ways: [how: string, fail: (process: SimulatedProcess, from: number) => void][] = [
  [
    'writes nothing any more',
    ({ faults }, from) => {
      let count = 0
      faults.nextCommit = () =>
        ++count < from ? null : { when: 'before', answerMs: 20, appliedAfterMs: 0, error: failure() }
    },
  ],
  [
    'writes, and answers no more',
    ({ faults }, from) => {
      let count = 0
      faults.nextCommit = () =>
        ++count < from ? null : { when: 'after', answerMs: 20, appliedAfterMs: 0, error: failure() }
    },
  ],
  [
    'can no longer be read',
    ({ faults }, from) => {
      let count = 0
      faults.nextRead = () => (++count < from ? null : failure())
    },
  ],
]

interface Failing {
  seed: number
  run: Run
  fail: (process: SimulatedProcess) => void
  leavesAfterMs: number | null
}

/** What is open after one call of a store that fails under it, the store failing still. */
async function openAfter({ seed, run, fail, leavesAfterMs }: Failing): Promise<string[]> {
  installVirtualMachines()
  const world = await World.open({ seed, sometimes: new Sometimes() })
  const { time, book } = world
  try {
    const [caller] = openCast(world) as [Caller]
    const process = world.startProcess(0)
    while (!process.isServing) await time.runNext()
    fail(process)
    const visit = new Visit(world, 'the call', caller, process)
    if (leavesAfterMs !== null) visit.leaveAfter(leavesAfterMs)
    begin(visit, run)
    const deadlineMs = time.nowMs + endsWithinMs
    while (book.openCalls.size > 0 && time.nowMs < deadlineMs) await time.runNext()
    const isOpen = book.openCalls.size > 0
    await time.runTo(time.nowMs + goesOnMs)
    let hasStopped = false
    const stopping = process.stop().then(() => {
      hasStopped = true
    })
    // Cut off by the end of this world where it has not stopped by itself.
    stopping.catch(() => undefined)
    await time.runTo(time.nowMs + stopsWithinMs)
    world.throwIfBroken()
    return [...(isOpen ? ['the call'] : []), ...(hasStopped ? [] : ['the service'])]
  } finally {
    for (const process of [...world.processes]) world.endProcess(process)
    world.database.close()
  }
}

// What the service reads from disk with its first chat would come at a moment of the machine's, not of the seed's.
beforeAll(async () => {
  installVirtualMachines()
  await loadChat()
})

describe.each(calls)('%s ends', (_what, run) => {
  describe.each(ways)('where the store %s', (_how, fail) => {
    test.each([
      ['stays', null],
      ['leaves', 300],
    ])('for a reader who %s', { timeout: 60_000 }, async (_reader, leavesAfterMs) => {
      for (const seed of seeds)
        for (let from = 1; from <= storeCalls; from++) {
          const open = await openAfter({ seed, run, fail: process => fail(process, from), leavesAfterMs })
          expect({ seed, from, open }).toEqual({ seed, from, open: [] })
        }
    })
  })
})
