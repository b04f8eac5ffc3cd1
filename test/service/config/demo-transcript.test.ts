import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import type { VideoCall } from '#engines/ports/media-engines.ts'
import { openBesideModels } from '#service/config/open-beside-models.ts'
import { readConfig } from '#service/config/read-config.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { openService } from '../open-service.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder('transcript')
})

/** A real one of two seconds, drawn here. */
async function drawnVideo(audio: boolean): Promise<Buffer> {
  const engine = new DemoVideo({ workFolder: folder })
  const request = VideoQueueRequest.parse({ model: 'm', prompt: 'a bell', duration: '2s', resolution: '256p', audio })
  const { signal } = new AbortController()
  const call: VideoCall = { request, engineModel: 'm', jobId: `bell-${audio}`, signal }
  try {
    await expect.poll(() => engine.start(call), { timeout: 60_000 }).toMatchObject({ state: 'completed' })
    return await readFile(join(folder, `bell-${audio}.mp4`))
  } finally {
    await engine.close()
  }
}

test('§4.6 the demonstration measures the sound of a video, and says that it does not recognize speech', async () => {
  const text = `
publicUrl: https://api.example.com
transcriber: { engine: demo }
models:
  - id: demo-chat
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1, outputPerMillionUsd: 1 }
    upstreams: [{ engine: demo }]
`
  const beside = await openBesideModels(readConfig(text, {}).file, { info() {}, warn() {}, error() {} })
  const { fetchHosts: _, ...options } = beside.options
  let bytes = await drawnVideo(true)
  const fetch = async ({ url }: { url: string }) => ({ url, mimeType: 'video/mp4', charset: null, bytes })
  const service = await openService({ ...options, fetcher: { fetch } })
  try {
    const key = await service.key(1)
    const ask = () => service.post('/video/transcriptions', { url: 'https://files.example/a.mp4' }, key)
    const heard = await ask()
    expect([heard.status, await heard.text()]).toEqual([
      200,
      expect.stringMatching(/does not recognize speech\. It received mp3 audio of 2\.\d seconds/),
    ])
    bytes = await drawnVideo(false)
    expect((await ask()).status).toBe(400)
  } finally {
    await service.close()
    await beside.close()
  }
}, 120_000)
