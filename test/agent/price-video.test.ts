import { describe, expect, onTestFinished, test } from 'vitest'
import { priceCall } from '#agent/prices/price-call.ts'
import { queueVideo, VideoQueueRequest } from '#contract/operations/video.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

async function price(changes: object) {
  const server = await pretendService({ quote: 0.2 })
  onTestFinished(server.close)
  const { client, models, close } = await openAgent({ baseUrl: server.baseUrl })
  onTestFinished(close)
  const body = { model: 'm', prompt: 'a cat', duration: '5s', ...changes }
  VideoQueueRequest.parse(body)
  const { amountMicroUsd } = await priceCall(client, models, queueVideo, body)
  const quoted = server.seen.filter(({ path }) => path.endsWith('/video/quote')).map(({ body }) => JSON.parse(body))
  return { amountMicroUsd, quoted }
}

const image = 'https://x.example/a.png'
const video = 'https://x.example/a.mp4'

describe('what may cost more than its quote has no price, and no quote is asked', () => {
  test.each([
    ['reference videos, whose length is not known', { reference_video_urls: [video] }],
    ['an element with a video', { elements: [{ frontal_image_url: image }, { video_url: video }] }],
    ['an element with an unknown member', { elements: [{ frontal_image_url: image, clips: [video] }] }],
    ['an unknown member', { quality: 'best' }],
    ['a member that only a quote takes', { reference_video_total_duration: 1 }],
  ])('%s', async (_rule, changes) => {
    expect(await price(changes)).toEqual({ amountMicroUsd: null, quoted: [] })
  })
})

describe('a quote is the price', () => {
  test('with every choice that it takes', async () => {
    const choices = { aspect_ratio: '1:1', resolution: '720p', upscale_factor: 2, audio: true, video_url: video }
    expect(await price(choices)).toEqual({
      amountMicroUsd: 200_000n,
      quoted: [{ model: 'm', duration: '5s', ...choices }],
    })
  })
  test.each([
    ['no reference videos', { reference_video_urls: [] }],
    ['images', { image_url: image, reference_image_urls: [image], scene_image_urls: [image] }],
    ['elements of images', { elements: [{ frontal_image_url: image, reference_image_urls: [image] }] }],
    ['members that are not set', { other: undefined, end_image_url: undefined }],
  ])('%s', async (_rule, changes) => {
    expect((await price(changes)).amountMicroUsd).toBe(200_000n)
  })
})
