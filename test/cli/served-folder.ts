import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { Listener } from '#service/http/listener.ts'
import { type OpenService, openService } from '#service/running/open-service.ts'

/** A service of this data folder, as `farebox up` starts it, for as long as `use` takes. */
export async function served<Value>(
  root: string,
  use: (service: OpenService) => Promise<Value>,
  host = '127.0.0.1',
): Promise<Value> {
  const folder = dataFolder(root)
  const service = await openService({
    publicUrl: 'http://127.0.0.1:8402',
    folder: join(root, 'service'),
    secrets: await folderSecrets(folder),
    models: [],
    adminToken: 'token of a test',
  })
  const listener = await Listener.open({ host, port: 0 })
  listener.serve((request, bindings) => service.fetch(request, bindings))
  const record = { url: `http://${host}:${listener.port}`, token: 'token of a test', pid: process.pid }
  await writeFile(folder.admin, JSON.stringify(record))
  try {
    return await use(service)
  } finally {
    await rm(folder.admin)
    await listener.close(0)
    await service.close()
  }
}
