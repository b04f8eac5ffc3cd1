import { afterEach, expect, test } from 'vitest'
import { formBoundary, parseForm } from '#contract/wire/form.ts'
import type { ImageFile } from '#engines/images/image-file.ts'
import { type OpenAiEditsOptions, OpenAiImageEdits } from '#engines/openai/images.ts'
import type { EditRequest } from '#engines/ports/media-engines.ts'
import { localServer } from '../../local-server.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

interface Seen {
  url: string
  authorization: string | undefined
  fields: Record<string, unknown>
}

/** A server that reads forms, and answers each the same way; one that never answers where there is nothing to say. */
async function engineFor(
  answer: { status?: number; body?: unknown } | null,
  options: Partial<OpenAiEditsOptions> = {},
) {
  const seen: Seen[] = []
  const asked = Promise.withResolvers<void>()
  const server = await localServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const form = parseForm(Buffer.concat(pieces), formBoundary(request.headers['content-type']) ?? '')
    seen.push({
      url: request.url ?? '',
      authorization: request.headers.authorization,
      fields: form.ok ? form.fields : {},
    })
    asked.resolve()
    if (!answer) return
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  })
  const engine = new OpenAiImageEdits({
    baseUrl: `${server.url}/v1`,
    apiKeyVariable: 'KEY',
    environment: { KEY: 'secret' },
    ...options,
  })
  open.push(server.close, () => engine.close())
  return { engine, seen, asked: asked.promise }
}

const image: ImageFile = { type: 'png', bytes: Buffer.from('one'), width: 2, height: 2 }
const call = (change: Partial<EditRequest> = {}, signal = new AbortController().signal) => ({
  request: { prompt: 'a boat', images: [image], format: 'png' as const, ...change },
  engineModel: 'inner',
  signal,
})
const made = Buffer.from('made')
const answer = { body: { data: [{ b64_json: made.toString('base64') }] } }

async function fieldsOf(seen: Seen | undefined) {
  const entries = Object.entries(seen?.fields ?? {}).map(async ([name, value]) => {
    const texts = [value].flat().map(async each => (each instanceof File ? `${each.type} ${await each.text()}` : each))
    return [name, await Promise.all(texts)]
  })
  return Object.fromEntries(await Promise.all(entries))
}

test('an image goes as a file of a form, in OpenAI’s words', async () => {
  const { engine, seen } = await engineFor(answer)
  expect(await engine.edit(call())).toEqual(made)
  expect(seen[0]).toMatchObject({ url: '/v1/images/edits', authorization: 'Bearer secret' })
  expect(await fieldsOf(seen[0])).toEqual({
    ...{ model: ['inner'], prompt: ['a boat'], n: ['1'], response_format: ['b64_json'] },
    image: ['image/png one'],
  })
})

test('several are a list, and what the caller chose is said', async () => {
  const { engine, seen } = await engineFor(answer, { lacksResponseFormat: true })
  const images = [image, { ...image, type: 'jpeg' as const, bytes: Buffer.from('two') }]
  await engine.edit(call({ images, format: 'webp', aspectRatio: '3:2', quality: 'high' }))
  expect(await fieldsOf(seen[0])).toEqual({
    ...{
      model: ['inner'],
      prompt: ['a boat'],
      n: ['1'],
      size: ['1536x1024'],
      quality: ['high'],
      output_format: ['webp'],
    },
    image: ['image/png one', 'image/jpeg two'],
  })
})

test.each([
  [{ status: 400, body: { error: { code: 'moderation_blocked', message: 'no' } } }, 'CONTENT_POLICY_VIOLATION'],
  [{ status: 400, body: { error: { message: 'bad', param: 'prompt' } } }, 'INVALID_REQUEST'],
  [{ status: 401, body: {} }, 'MODEL_OFFLINE'],
  [{ status: 429, body: {} }, 'MODEL_OVERLOADED'],
  [{ status: 500, body: {} }, 'INFERENCE_FAILED'],
  [{ body: { data: [] } }, 'INFERENCE_FAILED'],
  [{ body: { data: [{ url: 'http://127.0.0.1/secret' }] } }, 'INFERENCE_FAILED'],
])('a server that answers %j', async (said, kind) => {
  const { engine } = await engineFor(said)
  await expect(engine.edit(call())).rejects.toMatchObject({ kind })
})

test('a caller that leaves ends the request', async () => {
  const abort = new AbortController()
  const { engine, asked } = await engineFor(null)
  const edited = engine.edit(call({}, abort.signal))
  await asked
  abort.abort(new Error('left'))
  await expect(edited).rejects.toThrow('left')
})
