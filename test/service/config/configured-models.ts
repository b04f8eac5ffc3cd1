import type { Surroundings } from '#service/config/open-models.ts'
import { readConfig } from '#service/config/read-config.ts'
import type { Model } from '#service/models/model.ts'

interface Around extends Partial<Surroundings> {
  /** The variables that the configuration may name. */
  environment?: Record<string, string>
}

/** The models of a configuration, opened as a service opens them at its start. */
export const configuredModels = (text: string, { environment = {}, ...around }: Around = {}): Model[] =>
  readConfig(text, environment).openModels({
    folder: '.',
    log: { info() {}, warn() {}, error() {} },
    keep: (_, make) => make(),
    ...around,
  })
