/** What an agent remembers of its service for a few minutes, while its clock is set back. */
import { expect, onTestFinished, test } from 'vitest'
import { ModelRecords } from '#agent/prices/model-records.ts'
import { Client } from '#client/client.ts'
import { TopUpClient } from '#client/top-up.ts'
import { option, textModel } from './pretend-service.ts'

const hourMs = 3_600_000

function clientOf(answer: () => Response) {
  let [nowMs, asked] = [Date.parse('2026-11-21T09:00:00Z'), 0]
  const fetch = async () => {
    asked++
    return answer()
  }
  const client = new Client({
    baseUrl: 'http://127.0.0.1:1/api/v1',
    credential: null,
    fetch,
    clock: { now: () => nowMs },
  })
  onTestFinished(() => client.close())
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { client, pass, asked: () => asked }
}

test('prices are read again if the clock is set back', async () => {
  const list = { object: 'list', type: 'all', data: [textModel] }
  const { client, pass, asked } = clientOf(() => Response.json(list))
  const models = new ModelRecords(client)
  await models.all()
  await models.all()
  expect(asked()).toBe(1)
  pass(-hourMs)
  await models.all()
  expect(asked()).toBe(2)
})

test('so is the offer of a top-up', async () => {
  const required = { x402Version: 2, accepts: [option()] }
  const { client, pass, asked } = clientOf(() => Response.json(required, { status: 402 }))
  const topUps = new TopUpClient(client)
  await topUps.offer()
  await topUps.offer()
  expect(asked()).toBe(1)
  pass(-hourMs)
  await topUps.offer()
  expect(asked()).toBe(2)
})
