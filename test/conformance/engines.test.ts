import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { modelTypes } from '#contract/operations/models.ts'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import { ComfyVideo } from '#engines/comfy/jobs.ts'
import { placeholders } from '#engines/comfy/workflow.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { OpenAiVideos } from '#engines/openai/videos.ts'
import type { VideoEngine } from '#engines/ports/media-engines.ts'
import { ServiceVideo } from '#engines/service/service-engines.ts'
import { engineKinds } from '#service/config/model-config.ts'

/** The tables of engines in `docs/conformance.md` say what the code does. */
const [, section = ''] = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8').split(
  '\n## Engines',
)
const [byType = [], byField = []] = section
  .split('\n\n')
  .filter(part => part.startsWith('| '))
  .map(table =>
    table
      .split('\n')
      .slice(2)
      .map(line =>
        line
          .split('|')
          .slice(1, -1)
          .map(cell => cell.trim()),
      ),
  )

const inWords = (isSo: boolean) => (isSo ? 'yes' : 'no')
const plain = (cell = '') => cell.replaceAll('`', '')

test('every type of model has a row', () => {
  expect(byType.map(([, type]) => plain(type)).sort()).toEqual([...modelTypes].sort())
})

test.each(byType)('%s: the engines of a configuration', (_capability, type, engines, demo) => {
  const making = engineKinds.filter(({ engines }) => Object.hasOwn(engines, plain(type))).map(({ name }) => name)
  const real = making.filter(name => name !== 'demo')
  expect([plain(engines).split(', ').sort(), demo]).toEqual([real.sort(), inWords(making.includes('demo'))])
})

const server = { baseUrl: 'http://127.0.0.1:9', workFolder: 'never-made' }
const inputs = Object.fromEntries(placeholders.map(name => [name, `{{${name}}}`]))
const engines: readonly VideoEngine[] = [
  new OpenAiVideos(server),
  new ServiceVideo(server),
  new ComfyVideo({ ...server, workflow: { 1: { class_type: 'Film', inputs } } }),
  new DemoVideo(server),
]

/** A resolution has to be one that says pixels. */
const values: Readonly<Record<string, unknown>> = { resolution: '720p' }

test.each(byField)('%s: engines of videos that carry it', (field, ...cells) => {
  const name = plain(field) as Parameters<VideoEngine['carries']>[0]
  expect(cells).toEqual(engines.map(engine => inWords(engine.carries(name, values[name]))))
})

test('every field of a video request has a row', () => {
  const fields = Object.keys(VideoQueueRequest.shape).filter(name => name !== 'model' && name !== 'consents')
  expect(byField.map(([field]) => plain(field)).sort()).toEqual(fields.sort())
})
