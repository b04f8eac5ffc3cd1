import type { Client } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import {
  listModelCompatibilityMapping,
  listModels,
  listModelTraits,
  type ModelRecord,
  type ModelType,
} from '#contract/operations/models.ts'
import { isAhead } from '#contract/time.ts'
import { modelsLifeMs } from '../bounds.ts'

interface Known {
  records: readonly ModelRecord[]
  takesKeys: boolean
  atMs: number
}

type ModelNames = Readonly<Record<string, string | undefined>>

/** Caches the service's model records for a few minutes, because prices are looked up before every paid call. */
export class ModelRecords {
  readonly #client: Client
  #known: Known | null = null
  #backgrounds: Pick<Known, 'records' | 'atMs'> | null = null
  readonly #names = new Map<ModelType, { names: ModelNames; atMs: number }>()

  constructor(client: Client) {
    this.#client = client
  }

  async all(): Promise<readonly ModelRecord[]> {
    return (await this.#look()).records
  }

  /** Returns all records; for models that remove backgrounds also their separate list, which `all` does not contain. */
  async allFor(type: ModelType): Promise<readonly ModelRecord[]> {
    const all = await this.all()
    return type === 'background' ? [...all, ...(await this.#removeBackgrounds())] : all
  }

  /**
   * Returns the traits and other providers' ids that the service accepts for models of a type, each with the id that it
   * stands for.
   */
  async otherNames(type: ModelType): Promise<ModelNames> {
    const nowMs = this.#client.clock.now()
    const known = this.#names.get(type)
    if (known && isFresh(known, nowMs)) return known.names
    const call = { params: undefined, query: { type }, body: undefined } as const
    const [compatible, traits] = await Promise.all([
      ifListed(() => this.#client.call(listModelCompatibilityMapping, call)),
      ifListed(() => this.#client.call(listModelTraits, call)),
    ])
    const names = Object.assign(Object.create(null), compatible, traits) as ModelNames
    this.#names.set(type, { names, atMs: nowMs })
    return names
  }

  /** Returns whether the service does paid work once per `Idempotency-Key`; the list of models shows it. */
  async takesKeys(): Promise<boolean> {
    return (await this.#look()).takesKeys
  }

  async #look(): Promise<Known> {
    const nowMs = this.#client.clock.now()
    if (this.#known && isFresh(this.#known, nowMs)) return this.#known
    const { answer, headers } = await this.#client.call(listModels, {
      params: undefined,
      query: { type: 'all' },
      body: undefined,
    })
    this.#known = { records: answer.data, takesKeys: headers.takesKeys, atMs: nowMs }
    return this.#known
  }

  /** Farebox's own type: only a service that otherwise looks like farebox is asked for it. */
  async #removeBackgrounds(): Promise<readonly ModelRecord[]> {
    if (!(await this.takesKeys())) return []
    const nowMs = this.#client.clock.now()
    if (this.#backgrounds && isFresh(this.#backgrounds, nowMs)) return this.#backgrounds.records
    this.#backgrounds = { records: await this.#listBackgrounds(), atMs: nowMs }
    return this.#backgrounds.records
  }

  async #listBackgrounds(): Promise<readonly ModelRecord[]> {
    const call = { params: undefined, query: { type: 'background' }, body: undefined } as const
    try {
      return (await this.#client.call(listModels, call)).answer.data
    } catch (error) {
      // An older farebox has no such type; the user then decides without a known price.
      if (error instanceof ServiceError && error.status === 400) return []
      throw error
    }
  }
}

const isFresh = ({ atMs }: { atMs: number }, nowMs: number): boolean =>
  isAhead(atMs + modelsLifeMs, modelsLifeMs, nowMs)

/** Returns the aliases of models; none from a service that lists no aliases, or none for this type of model. */
async function ifListed(look: () => Promise<{ answer: { data: Record<string, string> } }>): Promise<object> {
  try {
    return (await look()).answer.data
  } catch (error) {
    if (error instanceof ServiceError && error.status >= 400 && error.status < 500 && error.status !== 429) return {}
    if (error instanceof ClientError && error.kind === 'unreadable') return {}
    throw error
  }
}
