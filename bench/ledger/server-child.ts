/** A service with demonstration models on a real socket; prints where it listens and the keys of its customers. */
import { once } from 'node:events'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { openService } from '#service/running/open-service.ts'
import { customers } from './bounds.ts'

const folder = process.argv[2] ?? ''
const { DATABASE_URL: database } = process.env
const service = await openService({
  publicUrl: 'http://127.0.0.1',
  folder,
  secrets: ['a secret of a bench, which guards nothing'],
  models: demoModels({ chat: new DemoChat(), video: new DemoVideo({ workFolder: folder }) }),
  ...(database ? { database } : {}),
})
const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
await service.warm()
const created = await Promise.all(Array.from({ length: customers }, () => service.createKey({ usd: '1000' })))
process.stdout.write(`${JSON.stringify({ port, keys: created.map(({ key }) => key) })}\n`)
process.stdin.resume()
await once(process.stdin, 'end')
await service.close()
