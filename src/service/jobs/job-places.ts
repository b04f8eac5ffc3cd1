/** A job that this process follows, and what it holds meanwhile. */
export interface PlacedJob {
  id: string
  model: string
  account: string
  /** Of its request, which stays in memory until the job ends. */
  inputBytes: number
}

/** What a search leaves out, because there is no place for it now. */
export interface FullPlaces {
  models: readonly string[]
  /** Accounts with all the places of a model that one may have. */
  shares: readonly Pick<PlacedJob, 'model' | 'account'>[]
  /** Accounts whose requests take all the memory that one may have. */
  accounts: readonly string[]
  /** Requests larger than this; null if there is room for any. */
  inputBytes: number | null
}

interface PlaceLimits {
  /** Jobs of one model at once; its engines limit their own work further. */
  ofModel: number
  /** Those of them that one account may have, so that others get a place too. */
  ofAccount: number
  /** Bytes of requests in memory, of one account and of all. One job is always allowed. */
  accountBytes: number
  allBytes: number
  /** A request of at most this many bytes needs no room. */
  smallBytes: number
}

const megabyte = 1024 * 1024

/** A minute's requests of a model with room to spare; and a few of the largest requests, which have 35 MB. */
export const placeLimits: PlaceLimits = {
  ofModel: 64,
  ofAccount: 48,
  accountBytes: 128 * megabyte,
  allBytes: 512 * megabyte,
  smallBytes: 64 * 1024,
}

/**
 * The places of followed jobs. Each model has its own, so that a model whose engine is slow or down keeps no job of
 * another waiting, and no account has all of them.
 */
export class JobPlaces {
  readonly #limits: PlaceLimits
  readonly #taken = new Map<string, PlacedJob>()

  constructor(limits: PlaceLimits = placeLimits) {
    this.#limits = limits
  }

  has(id: string): boolean {
    return this.#taken.has(id)
  }

  /** Returns false if there is no place for this job now. */
  take(job: PlacedJob): boolean {
    const { models, shares, accounts, inputBytes } = this.full
    const isFull =
      this.#taken.has(job.id) ||
      models.includes(job.model) ||
      accounts.includes(job.account) ||
      shares.some(({ model, account }) => model === job.model && account === job.account) ||
      (inputBytes !== null && job.inputBytes > inputBytes)
    if (!isFull) this.#taken.set(job.id, job)
    return !isFull
  }

  leave(id: string): void {
    this.#taken.delete(id)
  }

  get full(): FullPlaces {
    const { ofModel, ofAccount, accountBytes, allBytes, smallBytes } = this.#limits
    const taken = [...this.#taken.values()]
    const byModel = Map.groupBy(taken, ({ model }) => model)
    const byAccount = Map.groupBy(taken, ({ account }) => account)
    const shares = [...byModel].flatMap(([model, jobs]) =>
      [...Map.groupBy(jobs, ({ account }) => account)]
        .filter(([, own]) => own.length >= ofAccount)
        .map(([account]) => ({ model, account })),
    )
    return {
      models: [...byModel].filter(([, jobs]) => jobs.length >= ofModel).map(([model]) => model),
      shares,
      accounts: [...byAccount].filter(([, jobs]) => bytesOf(jobs) >= accountBytes).map(([account]) => account),
      inputBytes: bytesOf(taken) >= allBytes ? smallBytes : null,
    }
  }
}

const bytesOf = (jobs: readonly PlacedJob[]): number => jobs.reduce((sum, { inputBytes }) => sum + inputBytes, 0)
