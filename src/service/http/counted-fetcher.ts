import type { BodyStay } from '#access/limits/body-room.ts'
import type { Fetcher } from '#engines/fetch/fetcher.ts'
import type { FetchedFile, FetchOrder } from '#engines/fetch/guarded-fetcher.ts'

/** What is fetched is kept as base64 for its engine. */
const keptPerByte = 4 / 3

/**
 * Fetches for one call. What comes stays in memory until the call has ended, so it counts with the call's body, from the
 * first piece on: a few bytes of a request would otherwise bring in many megabytes that nothing bounds.
 */
export class CountedFetcher implements Fetcher {
  readonly #fetcher: Fetcher
  readonly #room: Pick<BodyStay, 'add'>

  constructor(fetcher: Fetcher, room: Pick<BodyStay, 'add'>) {
    this.#fetcher = fetcher
    this.#room = room
  }

  /** Counts bytes that came another way. Throws `bodiesFull`. */
  readonly count = (bytes: number): void => this.#room.add(Math.ceil(bytes * keptPerByte))

  /** Throws `bodiesFull` where no room is left, and what the fetcher throws. */
  async fetch(order: FetchOrder): Promise<FetchedFile> {
    let counted = 0
    const arrived = (bytes: number) => {
      this.count(bytes)
      counted += bytes
    }
    const file = await this.#fetcher.fetch({ ...order, arrived })
    if (file.bytes.length > counted) this.count(file.bytes.length - counted)
    return file
  }
}
