/** A stopping service does not wait for a facilitator without a limit. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Facilitator } from '#payments/facilitators/rail.ts'
import { TopUps } from '#payments/top-ups/top-up.ts'
import { testOption } from '../service/open-service.ts'
import { type DriverWorld, openDriverWorld } from './driver-world.ts'

let world: DriverWorld
beforeAll(async () => {
  world = await openDriverWorld()
})
afterAll(() => world.dispose())

const never = new Promise<never>(() => undefined)
const audio: Facilitator = {
  verify: async () => ({ valid: true }),
  settle: async () => ({ state: 'settled', transaction: '0x01' }),
  supported: () => [testOption.network],
  problem: async () => null,
}

test.each<[string, Partial<Facilitator>, string[]]>([
  ['whose parts end', { close: async () => undefined }, []],
  [
    'that never says how it is',
    { problem: () => never },
    ['Some payments are still being settled; they continue at the next start.'],
  ],
  ['that never closes', { close: () => never }, ['The facilitator could not be closed.']],
])('a facilitator %s', async (_what, parts, told) => {
  const logged: string[] = []
  const tell = (_: object, message: string) => void logged.push(message)
  const topUps = new TopUps({
    settings: { publicUrl: 'http://127.0.0.1', paymentOptions: [testOption] },
    store: world.store,
    clock: world.clock,
    log: { info: tell, warn: tell, error: tell },
    facilitator: { ...audio, ...parts },
    chain: { find: async () => ({ state: 'open' }) },
    owner: 'this process',
    closeMs: 50,
  })
  await topUps.start()
  await topUps.close()
  expect(logged).toEqual(told)
})
