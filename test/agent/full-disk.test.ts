/** A disk that becomes full under an agent: nothing is bought without its row, and the user learns what to do. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

let service: Awaited<ReturnType<typeof pretendService>>
let agent: Awaited<ReturnType<typeof openAgent>>
beforeEach(async () => {
  service = await pretendService({ quote: 2 })
  agent = await openAgent({ baseUrl: service.baseUrl })
  await agent.chat('first')
})
afterEach(async () => {
  await agent.close()
  await service.close()
})

const chats = () => service.seen.filter(({ path }) => path.endsWith('/chat/completions')).length

/** From now on the disk has no room for this step. SQLite gives the same error for a limit on its pages. */
function fillAt(step: 'INSERT' | 'UPDATE OF answer'): void {
  const database = agent.state.database()
  database.exec(`CREATE TABLE filler (text TEXT);
    CREATE TRIGGER full BEFORE ${step} ON paid_calls BEGIN INSERT INTO filler VALUES (zeroblob(9000000)); END`)
  const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number }
  database.exec(`PRAGMA max_page_count = ${pages + 50}`)
}

test('a call without room for its row is not made, and cost nothing', async () => {
  fillAt('INSERT')
  const before = chats()
  await expect(agent.chat('second')).rejects.toMatchObject({
    facts: {
      happened: expect.stringContaining('agent.db cannot be used: the disk is full.'),
      ...{ charged: 0n, next: 'Free some space, then try again.' },
    },
  })
  expect(chats()).toBe(before)
})

test('an answer without room to store it may have been charged', async () => {
  fillAt('UPDATE OF answer')
  const before = chats()
  await expect(agent.chat('second')).rejects.toMatchObject({
    facts: {
      happened: 'farebox cannot use its records on this machine: the disk is full.',
      ...{ charged: 'unknown', next: 'Free some space, then try again.' },
    },
  })
  expect(chats()).toBeGreaterThan(before)
})
