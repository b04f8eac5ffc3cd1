import { expect, test } from 'vitest'
import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { WalletSlots } from '#access/limits/concurrency.ts'
import { Client } from '#client/client.ts'
import { memorySharedNotes } from '#client/pace/shared-notes.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { walletConcurrency } from '#contract/limits.ts'
import { listModels } from '#contract/operations/models.ts'
import { seededRandom } from './seeded-random.ts'
import { VirtualTime } from './virtual-time.ts'

const answerMs = 1_000
const minutes = 3
/** They pass within seconds; on a busy machine they may take longer. */
const longestMs = 60_000

/** The service's own slots of a wallet, and its own count of failures. */
function crowdedService(time: VirtualTime) {
  const slots = new WalletSlots(time)
  const block = new AbuseBlock(time)
  const told = { answered: 0, refused: 0, blocksBegun: 0 }
  const fetch = async (): Promise<Response> => {
    try {
      const leave = slots.enter('caller')
      await time.pause(answerMs)
      leave()
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      told.refused++
      if (block.count('caller')) told.blocksBegun++
      return Response.json(error.body, { status: error.status, headers: error.headers })
    }
    told.answered++
    return Response.json({ object: 'list', type: 'all', data: [] })
  }
  return { fetch, told }
}

test.each([
  ['one process', 1],
  ['three processes', 3],
])(
  '%s of 16 callers each learns how many calls at once a service takes',
  async (_, processes) => {
    const time = new VirtualTime()
    const random = seededRandom(processes)
    const { fetch, told } = crowdedService(time)
    const notes = memorySharedNotes()
    const baseUrl = 'https://service.example/api/v1'
    const credential = { apiKey: 'k' }
    for (let process = 0; process < processes; process++) {
      const client = new Client({ baseUrl, credential, fetch, clock: time, notes, pause: time.pause, random })
      for (let caller = 0; caller < 16; caller++) void keepCalling(client)
    }
    async function keepCalling(client: Client): Promise<never> {
      for (;;) {
        const call = client.call(listModels, { params: undefined, query: {}, body: undefined })
        await call.catch(() => time.pause(1_000))
      }
    }
    const lengthMs = minutes * 60_000
    await time.runUntil(time.now() + lengthMs)
    const possible = (walletConcurrency * lengthMs) / answerMs
    expect(told.blocksBegun).toBe(0)
    expect(told.answered / possible).toBeGreaterThan(0.7)
    expect(told.refused / told.answered).toBeLessThan(0.15)
  },
  longestMs,
)
