import { dataFolder } from '#cli/data/data-folder.ts'
import { startLocalService } from '#cli/up/local-service.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const silent = { info: () => {}, warn: () => {}, error: () => {} }

/** The real service with its local chain and a funded wallet, in a folder of its own. */
export async function localService() {
  const root = temporaryFolder('agent-service')
  const service = await startLocalService({ folder: dataFolder(root), host: '127.0.0.1', port: 0, log: silent })
  return {
    ...service,
    root,
    async close() {
      await service.close()
    },
  }
}
