import type { DocumentFiles } from '#engines/documents/document-files.ts'
import type { DocumentCall, DocumentReader } from '#engines/ports/engine.ts'

/** The reader of documents, loaded with the first of them. */
export class FirstUseDocuments implements DocumentReader {
  #files: Promise<DocumentFiles> | null = null

  async read(call: DocumentCall): Promise<string> {
    this.#files ??= import('#engines/documents/document-files.ts').then(({ DocumentFiles }) => new DocumentFiles())
    return (await this.#files).read(call)
  }

  async close(): Promise<void> {
    await (await this.#files)?.close()
  }
}
