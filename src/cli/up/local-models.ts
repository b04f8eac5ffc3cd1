import type { LocalPlace } from '#engines/openai/find-local-servers.ts'
import type { Log } from '#host/log.ts'
import type { Model } from '#service/models/model.ts'

/**
 * Chat models of servers that run on this machine, ready to be sold; none where something goes wrong, because whoever
 * tries farebox must not fail on them.
 */
export async function localModels(
  { folder, log }: { folder: string; log: Log },
  ...where: [places?: readonly LocalPlace[], timeoutMs?: number]
): Promise<Model[]> {
  try {
    const { findLocalServers } = await import('#engines/openai/find-local-servers.ts')
    const servers = await findLocalServers(...where)
    if (!servers.length) return []
    const [{ foundModels, localModelConfigs }, { openModel }] = await Promise.all([
      import('#service/config/local-models.ts'),
      import('#service/config/open-models.ts'),
    ])
    const around = { folder, log, keep: <Engine>(_: string, make: () => Engine) => make() }
    return localModelConfigs(foundModels(servers)).map(config => openModel(config, around))
  } catch (error) {
    log.warn({ err: error }, 'The servers of this machine could not be looked for.')
    return []
  }
}

/** The first with those of the others whose id is still free. */
export const withLocalModels = (models: readonly Model[], local: readonly Model[]): Model[] => {
  const taken = new Set(models.map(({ id }) => id))
  return [...models, ...local.filter(({ id }) => !taken.has(id))]
}
