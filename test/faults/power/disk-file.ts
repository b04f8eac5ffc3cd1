import { type Survives, sectorBytes, sizeSector } from './survival.ts'

export type FileChange = { what: 'written'; offset: number; bytes: Buffer } | { what: 'cut'; size: number }

/** One file as a disk has it: what a sync has made durable, and the changes since, which a loss of power may undo. */
export class DiskFile {
  #durable: Buffer = Buffer.alloc(0)
  #size = 0
  #unsynced: FileChange[] = []

  get unsynced(): number {
    return this.#unsynced.length
  }

  change(change: FileChange): void {
    this.#unsynced.push(change)
  }

  sync(): void {
    const content = new Content(this.#durable, this.#size)
    content.take(this.#unsynced, () => true)
    this.#durable = content.bytes
    this.#size = content.size
    this.#unsynced = []
  }

  /** Its bytes where these of the unsynced changes survived. */
  after(survives: Survives): Buffer {
    const content = new Content(Buffer.from(this.#durable.subarray(0, this.#size)), this.#size)
    content.take(this.#unsynced, survives)
    return content.bytes.subarray(0, content.size)
  }
}

const growth = 2

class Content {
  bytes: Buffer
  size: number

  constructor(bytes: Buffer, size: number) {
    this.bytes = bytes
    this.size = size
  }

  take(changes: readonly FileChange[], survives: Survives): void {
    for (const [index, change] of changes.entries()) {
      if (change.what === 'written') this.#write(change.offset, change.bytes, sector => survives(index, sector))
      else if (survives(index, sizeSector)) this.#cut(change.size)
    }
  }

  #cut(size: number): void {
    this.#reserve(size)
    // What a longer file is given again later reads as zeros.
    if (size < this.size) this.bytes.fill(0, size, this.size)
    this.size = size
  }

  #write(offset: number, bytes: Buffer, survives: (sector: number) => boolean): void {
    const end = offset + bytes.length
    for (let at = offset; at < end; ) {
      const sector = Math.floor(at / sectorBytes)
      const sectorEnd = Math.min(end, (sector + 1) * sectorBytes)
      if (survives(sector)) this.#put(at, bytes.subarray(at - offset, sectorEnd - offset))
      at = sectorEnd
    }
  }

  #put(offset: number, bytes: Buffer): void {
    this.#reserve(offset + bytes.length)
    bytes.copy(this.bytes, offset)
    this.size = Math.max(this.size, offset + bytes.length)
  }

  #reserve(size: number): void {
    if (size <= this.bytes.length) return
    const larger = Buffer.alloc(Math.max(size, this.bytes.length * growth))
    this.bytes.copy(larger)
    this.bytes = larger
  }
}
