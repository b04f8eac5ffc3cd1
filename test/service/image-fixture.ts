import { FetchRefused } from '#engines/fetch/fetcher.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { colouredPng, ScriptedImages, scriptedModels } from './image-models.ts'
import { type OpenedService, openService } from './open-service.ts'

export type Body = Record<string, unknown> | FormData

interface Sent {
  response: Response
  /** What was charged for it. */
  lines: [sku: string | null, amount: bigint][]
}

/** The real service with scripted models of images, and a web of a few files. */
export interface ImageFixture {
  service: OpenedService
  engine: ScriptedImages
  /** A PNG of 20 by 10 pixels. */
  imageFile: Buffer
  base64: string
  /** Sends a request under a new key with so much credit, or under the one that is given. */
  send(
    path: string,
    body: Body,
    options?: { usd?: number; key?: string; headers?: Record<string, string> },
  ): Promise<Sent>
  edit(change?: object): Record<string, unknown>
  several(change?: object): Record<string, unknown>
  upscale(change?: object): Record<string, unknown>
}

export async function openImageFixture(): Promise<ImageFixture> {
  const engine = new ScriptedImages()
  const imageFile = await colouredPng(20, 10)
  const base64 = imageFile.toString('base64')
  const web = new Map<string, Buffer | FetchRefused>([
    ['https://files.example/a.png', imageFile],
    ['https://files.example/gone.png', new FetchRefused('unreachable', 'its server answered 404')],
    ['https://files.example/huge.png', new FetchRefused('too_large', 'it has more than 5 bytes')],
    ['http://127.0.0.1/a.png', new FetchRefused('address', 'must be a public address')],
  ])
  const service = await openService({
    models: engines => [...demoModels(engines), ...scriptedModels(engine)],
    fetcher: {
      fetch: async ({ url }) => {
        const found = web.get(url) ?? new FetchRefused('unreachable', 'its server cannot be reached')
        if (found instanceof FetchRefused) throw found
        return { url, bytes: found, mimeType: 'image/png', charset: null }
      },
    },
  })
  return {
    service,
    engine,
    imageFile,
    base64,
    edit: change => ({ model: 'editor', prompt: 'a red sky', image: base64, ...change }),
    several: change => ({ modelId: 'editor', prompt: 'x', images: [base64], ...change }),
    upscale: change => ({ model: 'upscaler', image: base64, ...change }),
    send: (path, body, options = {}) => send(service, path, body, options),
  }
}

async function send(
  service: OpenedService,
  path: string,
  body: Body,
  { usd = 1, key, headers }: { usd?: number; key?: string; headers?: Record<string, string> },
): Promise<Sent> {
  const before = new Set((await service.store.read.selectFrom('entry').select('id').execute()).map(({ id }) => id))
  const isForm = body instanceof FormData
  const response = await service.request(`/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key ?? (await service.key(usd))}`,
      ...(isForm ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: isForm ? body : JSON.stringify(body),
  })
  const entries = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
  const lines = entries.filter(({ id }) => !before.has(id)).map(({ sku, amount }): Sent['lines'][0] => [sku, amount])
  return { response, lines }
}

export function form(fields: Record<string, string>, files: [name: string, bytes: Buffer][]): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  for (const [name, bytes] of files) data.append(name, new File([new Uint8Array(bytes)], `${name}.png`))
  return data
}
