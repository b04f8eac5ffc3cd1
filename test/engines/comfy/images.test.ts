import { afterEach, expect, test } from 'vitest'
import { ComfyImages } from '#engines/comfy/images.ts'
import { Workflow } from '#engines/comfy/workflow.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import type { ImageCall } from '#engines/ports/media-engines.ts'
import { colouredPng } from '../../service/image-models.ts'
import { type ComfyBehaviour, comfyDouble, entryOf } from './comfy-double.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

const workflow = {
  3: {
    class_type: 'KSampler',
    inputs: { seed: '{{seed}}', steps: '{{steps|20}}', cfg: '{{cfg_scale|7.5}}', model: ['4', 0] },
  },
  4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: '{{model}}' } },
  5: {
    class_type: 'EmptyLatentImage',
    inputs: { width: '{{width}}', height: '{{height}}', batch_size: '{{count|1}}' },
  },
  6: { class_type: 'CLIPTextEncode', inputs: { text: 'best of {{ prompt }}, in {{style|any}} style' } },
}
const editing = {
  1: { class_type: 'LoadImage', inputs: { image: '{{image}}' } },
  2: { class_type: 'LoadImage', inputs: { image: '{{image_2|none}}' } },
  3: { class_type: 'Edit', inputs: { text: '{{prompt}}', scale: '{{scale|1}}' } },
}

async function engineFor(given: unknown, behaviour: ComfyBehaviour = {}, pollMs = 60_000) {
  const server = await comfyDouble(behaviour)
  const environment = { KEY: 'secret' }
  const { baseUrl } = server
  const engine = new ComfyImages({ baseUrl, workflow: given, pollMs, apiKeyVariable: 'KEY', environment })
  open.push(server, engine)
  return { server, engine }
}

const call = (change: Partial<ImageCall['request']> = {}, signal = new AbortController().signal): ImageCall => ({
  request: { prompt: 'a "boat"}}', width: 512, height: 256, count: 2, format: 'png', ...change },
  engineModel: 'inner.safetensors',
  signal,
})

test('a request fills the workflow, and what was saved comes back', async () => {
  const files = { 'output/a.png': await colouredPng(2, 2), 'output/b.png': await colouredPng(3, 3) }
  const { server, engine } = await engineFor(workflow, { files })
  const submitted = server.submitted()
  const made = engine.generate(call({ seed: 7, steps: 4 }))
  const { id, workflow: filled } = await submitted
  expect(filled).toEqual({
    3: { class_type: 'KSampler', inputs: { seed: 7, steps: 4, cfg: 7.5, model: ['4', 0] } },
    4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'inner.safetensors' } },
    5: { class_type: 'EmptyLatentImage', inputs: { width: 512, height: 256, batch_size: 2 } },
    6: { class_type: 'CLIPTextEncode', inputs: { text: 'best of a "boat"}}, in any style' } },
  })
  const shown = { filename: 'preview.png', subfolder: '', type: 'temp' }
  server.finish(
    id,
    entryOf([shown, { filename: 'a.png', subfolder: '', type: 'output' }, { filename: 'b.png', type: 'output' }]),
  )
  expect(await made).toEqual(Object.values(files))
  expect(server.seen.every(({ authorization }) => authorization === 'Bearer secret')).toBe(true)
})

test.each([
  ['a deaf server', { deaf: true }],
  ['one that gives its own ids', { ownIds: true }],
])('%s is asked until it is done', async (_name, behaviour) => {
  const files = { 'output/a.png': await colouredPng(2, 2) }
  const { server, engine } = await engineFor(workflow, { ...behaviour, files }, 5)
  const submitted = server.submitted()
  const made = engine.generate(call({ count: 1 }))
  const { id } = await submitted
  server.finish(id, entryOf([{ filename: 'a.png', type: 'output' }]))
  expect(await made).toHaveLength(1)
})

const image = async (side: number): Promise<ImageFile> => ({
  type: 'png',
  bytes: await colouredPng(side, side),
  width: side,
  height: side,
})

test('images are sent first, and stand in the workflow by the server’s names', async () => {
  const files = { 'output/a.png': await colouredPng(2, 2) }
  const { server, engine } = await engineFor(editing, { files })
  const submitted = server.submitted()
  const images = [await image(4), await image(5)]
  const request = { prompt: 'mix', images, format: 'png' as const }
  const made = engine.edit({ request, engineModel: 'm', signal: new AbortController().signal })
  const { id, workflow: filled } = await submitted
  expect(server.seen.map(({ path }) => path)).toEqual(['/upload/image', '/upload/image', '/prompt'])
  const sent = server.seen[0]?.body as { image: File } | undefined
  expect(Buffer.from((await sent?.image.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(images[0]?.bytes)
  expect(filled).toMatchObject({
    1: { inputs: { image: 'in/stored-1.png' } },
    2: { inputs: { image: 'in/stored-2.png' } },
    3: { inputs: { text: 'mix' } },
  })
  server.finish(id, entryOf([{ filename: 'a.png', type: 'output' }]))
  expect(await made).toEqual(files['output/a.png'])
})

test.each([
  ['work that failed', entryOf([], 'error'), 'INFERENCE_FAILED'],
  ['work without a file', entryOf([]), 'INFERENCE_FAILED'],
  ['a file that is not there', entryOf([{ filename: 'x.png', type: 'output' }]), 'MODEL_OFFLINE'],
])('%s', async (_name, entry, kind) => {
  const { server, engine } = await engineFor(editing)
  const submitted = server.submitted()
  const request = { image: await image(4), scale: 2 }
  const made = engine.upscale({ request, engineModel: 'm', signal: new AbortController().signal })
  const refused = expect(made).rejects.toMatchObject({ kind })
  server.finish((await submitted).id, entry, 'execution_error')
  await refused
})

test('work that the server has forgotten is over', async () => {
  const { server, engine } = await engineFor(workflow, {}, 5)
  const submitted = server.submitted()
  const refused = expect(engine.generate(call())).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
  await submitted
  server.forget()
  await refused
})

test.each([
  [400, 'INFERENCE_FAILED'],
  [401, 'MODEL_OFFLINE'],
  [503, 'MODEL_OVERLOADED'],
])('a server that answers %i to a submission', async (status, kind) => {
  const { engine } = await engineFor(workflow, { submission: { status } })
  await expect(engine.generate(call())).rejects.toMatchObject({ kind })
})

test('a server that is away', async () => {
  const { server, engine } = await engineFor(workflow)
  await server.close()
  await expect(engine.generate(call())).rejects.toMatchObject({ kind: 'MODEL_OFFLINE' })
  open.shift()
})

test.each([
  ['running', '/interrupt', (id: string) => ({ prompt_id: id })],
  ['waiting', '/queue', (id: string) => ({ delete: [id] })],
] as const)('a caller that leaves ends %s work, and only that', async (place, path, body) => {
  const { server, engine } = await engineFor(workflow)
  const abort = new AbortController()
  const [submitted, ended] = [server.submitted(), server.asked(path)]
  const refused = expect(engine.generate(call({}, abort.signal))).rejects.toThrow('left')
  const item = await submitted
  if (place === 'waiting') server.line.pending = server.line.running.splice(0)
  abort.abort(new Error('left'))
  await refused
  expect(await ended).toEqual(body(item.id))
})

test('more images than the workflow has places for are not sold', async () => {
  const { engine } = await engineFor({ 1: { class_type: 'LoadImage', inputs: { image: '{{image}}' } } })
  const images = [await image(4), await image(4)]
  const request = { prompt: 'x', images, format: 'png' as const }
  const made = engine.edit({ request, engineModel: 'm', signal: new AbortController().signal })
  await expect(made).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
})

test.each([
  ['no object', [], 'not a ComfyUI workflow'],
  ['a page’s own format', { nodes: [], links: [] }, 'not a ComfyUI workflow'],
  ['a placeholder that there is not', { 1: { class_type: 'A', inputs: { x: '{{promt}}' } } }, '{{promt}}'],
])('%s is refused at start', (_name, given, says) => {
  expect(() => new Workflow(given)).toThrow(says)
})

test('a value that is missing and has no other is told', () => {
  const needs = new Workflow({ 1: { class_type: 'A', inputs: { x: '{{image}}' } } })
  expect(() => needs.filled({})).toThrow('{{image}}')
})
