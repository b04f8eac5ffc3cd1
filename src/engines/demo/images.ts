import type { Carries, ImageChoice } from '../carried-choices.ts'
import type { ImageCall, ImageEngine } from '../engine.ts'
import { PictureWorker } from '../picture-worker.ts'
import { usualCfgScale } from './draw-picture.ts'

/**
 * Pictures of colours that follow from the words, with the words in them. Nothing is understood; it shows the path of a
 * request. The same prompt and seed give the same picture. They are drawn on a thread, which starts with the first and
 * keeps no process alive; whoever has one for pictures may give it.
 */
export class DemoImages implements ImageEngine {
  /** Nothing is drawn in steps. */
  readonly carries: Carries<ImageChoice> = (field, value) => (field === 'format' ? value === 'png' : field !== 'steps')
  readonly #worker: PictureWorker

  constructor(worker: PictureWorker = new PictureWorker()) {
    this.#worker = worker
  }

  async generate({ request, signal }: ImageCall): Promise<Buffer[]> {
    const {
      width,
      height,
      prompt,
      negativePrompt = '',
      style = '',
      seed = 0,
      cfgScale = usualCfgScale,
      count,
    } = request
    const pictures: Buffer[] = []
    for (let variant = 0; variant < count; variant++) {
      const drawing = { width, height, prompt, negativePrompt, style, seed, cfgScale, variant }
      pictures.push(await this.#worker.run({ kind: 'demo-draw', drawing }, signal))
    }
    return pictures
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}
