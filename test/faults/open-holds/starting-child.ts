/** Opens the service on a database, answers one request, and says how long that took by itself. */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// As the command does, so that what is measured is a start as an operator has it: never the first on a machine.
enableCompileCache(join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'farebox'))
const [{ DemoChat }, { DemoVideo }, { demoModels }, { openService }] = await Promise.all([
  import('#engines/demo/chat.ts'),
  import('#engines/demo/video.ts'),
  import('#service/models/demo-models.ts'),
  import('#service/running/open-service.ts'),
])

const [, , folder = '', database = ''] = process.argv

const startedMs = performance.now()
const before = process.cpuUsage()
const service = await openService({
  publicUrl: 'http://127.0.0.1:8402',
  folder,
  database,
  secrets: ['a secret of the harness, long enough'],
  models: demoModels({ chat: new DemoChat(), video: new DemoVideo({ workFolder: `${folder}/engines` }) }),
})
const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
const { status } = await fetch(`http://127.0.0.1:${port}/api/v1/models`)
const readyMs = performance.now() - startedMs
const { user, system } = process.cpuUsage(before)
const cpuMs = (user + system) / 1000
process.stdout.write(`${JSON.stringify({ status, readyMs, cpuMs, sinceSpawnMs: performance.now() })}\n`)
process.stdin.resume().once('end', async () => {
  await service.close()
  process.exit(0)
})
