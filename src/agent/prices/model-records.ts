import type { Client } from '#client/client.ts'
import { listModels, type ModelRecord, type ModelType } from '#contract/models.ts'
import { ServiceError } from '#contract/service-error.ts'
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
  #backgrounds: Pick<Known, 'records' | 'atMs'> | null = null

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

  /** The same with those of a type that only a list of its own has. */
  async allFor(type: ModelType): Promise<readonly ModelRecord[]> {
    const all = await this.all()
    return type === 'background' ? [...all, ...(await this.#removeBackgrounds())] : all
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

  /** Farebox's own type: a service that shows no other sign of being one is not asked for it. */
  async #removeBackgrounds(): Promise<readonly ModelRecord[]> {
    if (!(await this.takesKeys())) return []
    const nowMs = this.#client.clock.now()
    if (this.#backgrounds && nowMs - this.#backgrounds.atMs < modelsLifeMs) return this.#backgrounds.records
    this.#backgrounds = { records: await this.#listBackgrounds(), atMs: nowMs }
    return this.#backgrounds.records
  }

  async #listBackgrounds(): Promise<readonly ModelRecord[]> {
    const call = { params: undefined, query: { type: 'background' }, body: undefined } as const
    try {
      return (await this.#client.call(listModels, call)).answer.data
    } catch (error) {
      // An older farebox lists no such type; its price is a question for the person.
      if (error instanceof ServiceError && error.status === 400) return []
      throw error
    }
  }
}
