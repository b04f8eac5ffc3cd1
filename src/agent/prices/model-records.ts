import type { Client } from '#client/client.ts'
import { listModels, type ModelRecord } from '#contract/models.ts'
import { modelsLifeMs } from '../bounds.ts'

interface Known {
  records: readonly ModelRecord[]
  takesKeys: boolean
  atMs: number
}

/** Records of the service's models, kept for a few minutes: prices are looked up before every paid call. */
export class ModelRecords {
  readonly #client: Client
  #known: Known | null = null

  constructor(client: Client) {
    this.#client = client
  }

  /** Null where the service has no such model. What follows a colon are options and no part of the id. */
  async find(id: string): Promise<ModelRecord | null> {
    const records = await this.all()
    return records.find(record => record.id === id) ?? records.find(record => record.id === id.split(':')[0]) ?? null
  }

  async all(): Promise<readonly ModelRecord[]> {
    return (await this.#look()).records
  }

  /** Whether the service does paid work once for each `Idempotency-Key`; the list of models says so. */
  async takesKeys(): Promise<boolean> {
    return (await this.#look()).takesKeys
  }

  async #look(): Promise<Known> {
    const nowMs = this.#client.clock.now()
    if (this.#known && nowMs - this.#known.atMs < modelsLifeMs) return this.#known
    const { answer, headers } = await this.#client.call(listModels, {
      params: undefined,
      query: { type: 'all' },
      body: undefined,
    })
    this.#known = { records: answer.data, takesKeys: headers.takesKeys, atMs: nowMs }
    return this.#known
  }
}
