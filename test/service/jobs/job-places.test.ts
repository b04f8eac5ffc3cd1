/** Which jobs a process follows: no engine, and no account, keeps those of others waiting. */
import { afterEach, describe, expect, test } from 'vitest'
import type { JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import { JobPlaces, type PlacedJob, placeLimits } from '#service/jobs/job-places.ts'
import { claimedAtOnce } from '#service/jobs/jobs.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { type OpenedService, openService } from '../open-service.ts'

const limits = { ofModel: 3, ofAccount: 2, accountBytes: 200, allBytes: 500, smallBytes: 10 }

/** The jobs are written as MODEL ACCOUNT BYTES. */
const jobOf = (text: string, index: number): PlacedJob => {
  const [model = '', account = '', bytes = '0'] = text.split(' ')
  return { id: `${index}`, model, account, inputBytes: Number(bytes) }
}

describe('a process follows', () => {
  test.each<[rule: string, taken: string[], next: string, isTaken: boolean]>([
    ['a job of another model, although one has all its places', ['a x', 'a y', 'a z'], 'b z', true],
    ['no more of a model than it has places', ['a x', 'a y', 'a z'], 'a z', false],
    ['a job of another account, although one has its share', ['a x', 'a x'], 'a y', true],
    ['no more of an account than its share of a model', ['a x', 'a x'], 'a x', false],
    ['an account’s jobs of another model', ['a x', 'a x'], 'b x', true],
    ['one job, however large its request', [], 'a x 9000', true],
    ['no more of an account whose requests are large', ['a x 200'], 'b x 1', false],
    ['another account’s large request', ['a x 200'], 'b y 200', true],
    ['small requests alone, once all are large', ['a x 200', 'b y 200', 'c z 100'], 'd w 11', false],
    ['small requests, although all are large', ['a x 200', 'b y 200', 'c z 100'], 'd w 10', true],
  ])('%s', (_rule, taken, next, isTaken) => {
    const places = new JobPlaces(limits)
    for (const [index, text] of taken.entries()) expect(places.take(jobOf(text, index))).toBe(true)
    expect(places.take(jobOf(next, taken.length))).toBe(isTaken)
  })

  test('no job twice, and another in the place of one that has ended', () => {
    const places = new JobPlaces({ ...limits, ofModel: 1 })
    const [one, other] = [jobOf('a x', 0), jobOf('a y', 1)]
    expect([places.take(one), places.take(one), places.take(other)]).toEqual([true, false, false])
    places.leave(one.id)
    expect(places.take(other)).toBe(true)
  })
})

/** Begins every job and ends none. */
class EndlessVideo implements VideoEngine {
  readonly carries = () => true
  readonly prompts: string[] = []
  start = async ({ request }: VideoCall): Promise<JobProgress> => {
    this.prompts.push(request.prompt)
    return { state: 'running', engineState: { at: 'engine' } }
  }
  poll = async (_call: VideoCall, engineState: Record<string, unknown>): Promise<JobProgress> => ({
    ...{ state: 'running', engineState },
  })
}

let service: OpenedService | null = null
afterEach(() => service?.close())

test('V10: jobs of another customer, or of another model, begin although one customer’s fill a slow engine', async () => {
  const video = new EndlessVideo()
  const models = (engines: Parameters<typeof demoModels>[0]): Model[] => {
    const all = demoModels(engines)
    const other = all
      .filter(({ id }) => id === 'demo-video')
      .map(model => ({ ...model, id: 'other-video', traits: [] }))
    return [...all, ...other]
  }
  const opened = await openService({ video, models })
  service = opened
  const queue = async (prompt: string, key: string, model = 'demo-video') => {
    const asked = { model, prompt, duration: '2s', resolution: '360p', audio: false }
    expect((await opened.post('/video/queue', asked, key)).status).toBe(200)
  }
  const [greedy, other] = [await opened.key(100), await opened.key(100)]
  /** More than a search returns: it must leave out those for which there is no place. */
  const queueMany = async (prompt: string, key: string) => {
    for (let job = 0; job < placeLimits.ofAccount + claimedAtOnce; job++) {
      if (job % 40 === 0) opened.clock.pass(60_000)
      await queue(prompt, key)
    }
  }
  const begun = () => Object.groupBy(video.prompts, prompt => prompt)
  await queueMany('Fog', greedy)
  await expect.poll(() => begun().Fog?.length).toBe(placeLimits.ofAccount)
  await queueMany('Rain', other)
  await expect.poll(() => begun().Rain?.length).toBe(placeLimits.ofModel - placeLimits.ofAccount)
  await queue('Snow', greedy, 'other-video')
  await expect.poll(() => begun().Snow?.length).toBe(1)
  expect(video.prompts.length).toBe(placeLimits.ofModel + 1)
})
