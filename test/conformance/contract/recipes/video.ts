import type { Stand } from '../contract-service.ts'
import { refusedWord } from '../double-video.ts'
import { type Asked, deletedJob, queuedJob, type Recipes } from '../recipe.ts'

const video = { model: 'demo-video', prompt: 'A lighthouse in fog', duration: '2s', resolution: '360p', audio: false }
const { prompt: _prompt, ...priced } = video
const face =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const queued = (stand: Stand, change: object = {}): Promise<Asked> => queuedJob(stand, 'video', { ...video, ...change })
const deleted = (stand: Stand): Promise<Asked> => deletedJob(stand, 'video', video)

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
