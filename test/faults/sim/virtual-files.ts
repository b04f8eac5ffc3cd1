/** Created once, because waiting for a file reads it often. */
const noSuchFile = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })

/** The few files that a service has: finished media. In memory, because a real disk answers when it likes. */
export class VirtualFiles {
  readonly #files = new Map<string, Buffer>()

  write(path: string, bytes: Buffer): void {
    this.#files.set(path, bytes)
  }

  get paths(): readonly string[] {
    return [...this.#files.keys()]
  }

  read(path: string): Buffer {
    const bytes = this.#files.get(path)
    if (!bytes) throw noSuchFile
    return bytes
  }

  stat(path: string): { size: number; isFile(): boolean } {
    return { size: this.read(path).byteLength, isFile: () => true }
  }

  rename(from: string, to: string): void {
    this.#files.set(to, this.read(from))
    this.#files.delete(from)
  }

  copy(from: string, to: string): void {
    this.#files.set(to, this.read(from))
  }

  /** Deleting what is not there is fine, as with `force`. */
  remove(path: string): void {
    this.#files.delete(path)
  }
}
