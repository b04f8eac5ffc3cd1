import type { Client } from '#client/client.ts'
import { listModels, type ModelRecord } from '#contract/models.ts'
import { modelsLifeMs } from './bounds.ts'

/** Records of the service's models, kept for a few minutes: prices are looked up before every paid call. */
export class ModelRecords {
  readonly #client: Client
  #known: { records: readonly ModelRecord[]; atMs: number } | null = null

  constructor(client: Client) {
    this.#client = client
  }

  /** Null where the service has no such model. What follows a colon are options and no part of the id. */
  async find(id: string): Promise<ModelRecord | null> {
    const records = await this.#records()
    return records.find(record => record.id === id) ?? records.find(record => record.id === id.split(':')[0]) ?? null
  }

  async #records(): Promise<readonly ModelRecord[]> {
    const nowMs = this.#client.clock.now()
    if (this.#known && nowMs - this.#known.atMs < modelsLifeMs) return this.#known.records
    const { answer } = await this.#client.call(listModels, {
      params: undefined,
      query: { type: 'all' },
      body: undefined,
    })
    this.#known = { records: answer.data, atMs: nowMs }
    return answer.data
  }
}
