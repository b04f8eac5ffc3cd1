import type { ImageCall, ImageEngine } from '../engine.ts'
import { PictureWorker } from '../pictures/picture-worker.ts'

/**
 * Pictures of colours that follow from the words, with the words in them. Nothing is understood; it shows the path of a
 * request. The same prompt and seed give the same picture. They are drawn on a thread, which starts with the first and
 * keeps no process alive; whoever has one for pictures may give it.
 */
export class DemoImages implements ImageEngine {
  readonly #worker: PictureWorker

  constructor(worker: PictureWorker = new PictureWorker()) {
    this.#worker = worker
  }

  async generate({ request, signal }: ImageCall): Promise<Buffer[]> {
    const { width, height, prompt, style = '', seed = 0, count } = request
    const pictures: Buffer[] = []
    for (let variant = 0; variant < count; variant++) {
      const drawing = { width, height, prompt, style, seed, variant }
      pictures.push(await this.#worker.run({ kind: 'demo-draw', drawing }, signal))
    }
    return pictures
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}
