import { refusedWord } from '../double-video.ts'
import type { Asked, Recipes } from '../recipe.ts'
import type { Stand } from '../stand.ts'

const video = { model: 'demo-video', prompt: 'A lighthouse in fog', duration: '2s', resolution: '360p', audio: false }
const { prompt: _prompt, ...priced } = video
const face =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** A job of which there is a verdict. */
const queued = async (stand: Stand, change: object = {}): Promise<Asked> => {
  const response = await stand.ask('POST', '/video/queue', { body: { ...video, ...change } })
  const { model, queue_id } = (await response.json()) as { model: string; queue_id: string }
  const job = () => stand.opened.store.read.selectFrom('job').select('state').where('id', '=', queue_id)
  for (let looks = 0; looks < 2_000; looks++) {
    const { state } = await job().executeTakeFirstOrThrow()
    if (state === 'completed' || state === 'failed') break
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  return { body: { model, queue_id } }
}

const deleted = async (stand: Stand): Promise<Asked> => {
  const asked = await queued(stand)
  await stand.ask('POST', '/video/complete', asked)
  return asked
}

const open = 'every model here is open to everybody'

export const videoRecipes: Recipes = {
  quoteVideo: { succeeds: [{ body: priced }], unreachable: { 403: open } },
  queueVideo: {
    succeeds: [{ body: video }, { body: { ...video, model: 'demo-video-url' }, as: 'wallet' }],
    reaches: { 409: { body: { ...video, image_url: face } } },
    unreachable: {
      403: open,
      422: 'no model here refuses a prompt before it is queued',
    },
    failsBy: 'books',
    tolerated: [[/^consent_flow: .*seedance/, 'the published word is one provider; each has its own key (brief §3.2)']],
  },
  retrieveVideo: {
    succeeds: [stand => queued(stand), stand => queued(stand, { model: 'demo-video-url' })],
    reaches: { 404: deleted, 422: stand => queued(stand, { prompt: refusedWord }) },
    unreachable: { 403: open },
    failsBy: 'books',
  },
  completeVideo: { succeeds: [stand => queued(stand)], failsBy: 'books' },
}
