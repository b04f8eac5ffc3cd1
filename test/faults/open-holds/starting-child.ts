/** Opens the service on a database, answers one request, and says how long that took by itself. */
import { DemoChat } from '#service/engines/demo/chat.ts'
import { DemoVideo } from '#service/engines/demo/video.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { openService } from '#service/open-service.ts'

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
await service.close()
process.exit(0)
