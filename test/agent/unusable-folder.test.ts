/** A data folder that this user cannot use, as in a container with a read-only disk: nothing is sent, and the user learns what to do. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '../temporary-folder.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

let service: Awaited<ReturnType<typeof pretendService>>
let agent: Awaited<ReturnType<typeof openAgent>>
beforeEach(async () => {
  service = await pretendService({ quote: 2 })
  const parent = temporaryFolder()
  agent = await openAgent({ baseUrl: service.baseUrl, apiKey: 'a key', dataFolder: join(parent, 'data') })
  // The folder is created when the first tool needs it.
  await rm(parent, { recursive: true })
  await writeFile(parent, '')
})
afterEach(async () => {
  await agent.host.close()
  await service.close()
})

const told = {
  name: 'ToolFailure',
  facts: {
    happened: expect.stringMatching(
      /agent\.db cannot be used: (?:there is a file where the folder should be|the system cannot create a folder there)\./,
    ),
    charged: 0n,
    next: expect.stringContaining('set FAREBOX_DATA to another folder'),
  },
}

test('a paid call is not made', async () => {
  await expect(agent.chat()).rejects.toMatchObject(told)
  expect(service.seen.filter(({ path }) => path.endsWith('/chat/completions'))).toEqual([])
})

test('jobs and receipts say so too, each time', async () => {
  for (const _ of ['once', 'again']) {
    await expect(agent.context().jobs.list(5)).rejects.toMatchObject(told)
    await expect(agent.context().wallet.receipts(5)).rejects.toMatchObject(told)
  }
})
