import { doneJob } from './fake-host.ts'

const video = { model: 'demo-video', duration: '5s' }

/** Right arguments for every tool. */
export const samples: Readonly<Record<string, Record<string, unknown>>> = {
  chain_rpc: { network: 'base-mainnet', method: 'eth_blockNumber' },
  characters_find: { query: 'kites' },
  chat: { model: 'demo-chat', prompt: 'Say hello.' },
  estimate: { tool: 'video_create', arguments: { ...video, prompt: 'A kite.' } },
  embeddings_create: { model: 'demo-embedding', texts: ['kites'] },
  image_create: { model: 'demo-image', prompt: 'A kite.' },
  image_edit: { model: 'demo-edit', prompt: 'Make it grey.', images: ['a.png'] },
  image_remove_background: { image: 'a.png' },
  image_upscale: { image: 'a.png' },
  job_delete: { job_id: doneJob.jobId },
  job_list: {},
  job_wait: { job_id: doneJob.jobId },
  limits: {},
  models_find: {},
  usage_report: {},
  music_create: { model: 'demo-music', prompt: 'A waltz.' },
  speech_create: { model: 'demo-speech', text: 'Hello.' },
  transcribe: { model: 'demo-asr', file: 'a.wav' },
  video_create: { ...video, prompt: 'A kite.' },
  voice_clone: { recording: 'a.wav' },
  wallet_receipts: {},
  wallet_status: {},
  wallet_top_up: { amount_usd: 5 },
  web_read: { source: 'https://example.com/' },
  web_search: { query: 'kites' },
}
