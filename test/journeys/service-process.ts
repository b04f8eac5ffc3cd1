/**
 * One of several service processes on a database, as a self-hoster runs them. Its parent tells it by the environment, is
 * told the port, and may order keys.
 */
import { openService } from '#service/index.ts'
import { exactModels } from './exact-engine.ts'

const { SERVICE_DATABASE = '', SERVICE_FOLDER = '', SERVICE_MODELS = '1' } = process.env

const service = await openService({
  publicUrl: 'http://127.0.0.1:8402',
  folder: SERVICE_FOLDER,
  database: SERVICE_DATABASE,
  secrets: ['a secret that all processes of this service share'],
  models: exactModels(Number(SERVICE_MODELS)),
})
const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
process.on('message', async (order: { usd: string }) => {
  process.send?.(await service.createKey(order))
})
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)))
process.send?.({ port })
