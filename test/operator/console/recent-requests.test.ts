import { expect, test } from 'vitest'
import { liveFigures, RecentRequests } from '#operator/console/recent-requests.ts'

const nowMs = Date.parse('2026-11-21T09:00:00Z')
const ended = (ms: number, model: string | null = 'm', status = 200) => ({
  ...{ requestId: `${model} ${ms}`, operation: 'createChatCompletion', status, ms, account: null },
  ...{ customer: null, model, engine: null },
})

test('half and 95 of 100 requests ended within these times, of one process and of several', () => {
  const [one, other] = [new RecentRequests(), new RecentRequests()]
  for (let ms = 1; ms <= 50; ms++) one.add(ended(ms), nowMs)
  for (let ms = 51; ms <= 100; ms++) other.add(ended(ms), nowMs)
  expect(liveFigures([one.summary(nowMs)], 1)).toMatchObject({ requests: 50, p50Ms: 26, p95Ms: 48 })
  const both = liveFigures([one.summary(nowMs), other.summary(nowMs)], 3)
  expect(both).toMatchObject({ requests: 100, p50Ms: 51, p95Ms: 96, processes: { answered: 2, of: 3 } })
  expect(both.byModel).toEqual([{ model: 'm', requests: 100, failed: 0, refused: 0, p50Ms: 51, p95Ms: 96 }])
})

test('what is older than a quarter of an hour, and probes, are not live; the most used models come first', () => {
  const recent = new RecentRequests()
  recent.add(ended(9, 'old'), nowMs - 15 * 60_000 - 1)
  recent.add({ ...ended(9, null), operation: '/healthz' }, nowMs)
  for (let n = 0; n < 12; n++) for (let calls = 0; calls <= n; calls++) recent.add(ended(1_234, `m${n}`), nowMs)
  recent.add(ended(5, 'm11', 503), nowMs)
  recent.add(ended(6, 'm11', 400), nowMs)
  const { requests, failed, refused, byModel, failures } = liveFigures([recent.summary(nowMs)], 1)
  expect({ requests, failed, refused }).toEqual({ requests: 80, failed: 1, refused: 1 })
  expect(byModel.map(({ model }) => model)).toEqual(Array.from({ length: 10 }, (_, place) => `m${11 - place}`))
  expect(byModel[0]?.p50Ms).toBe(1_200)
  expect(failures.map(({ status }) => status)).toEqual([503, 400])
  expect(recent.find('m11 5')).toMatchObject({ status: 503 })
  expect(recent.find('another')).toBeNull()
})
