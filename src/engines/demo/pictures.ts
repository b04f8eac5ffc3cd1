import { carriesOnly, type EditChoice, type UpscaleChoice } from '../carried-choices.ts'
import type { BackgroundCall, BackgroundEngine, EditCall, EditEngine, UpscaleCall, UpscaleEngine } from '../engine.ts'
import { PictureWorker } from '../picture-worker.ts'
import type { Picture } from '../pictures/picture.ts'

/**
 * Edits, larger pictures and removed backgrounds by plain arithmetic, to show the path of a request. No model is behind
 * any of them.
 */
export class DemoPictures implements EditEngine, UpscaleEngine, BackgroundEngine {
  readonly carries = carriesOnly<EditChoice | UpscaleChoice>(
    ...(['prompt', 'images', 'aspect_ratio', 'resolution', 'quality', 'output_format', 'scale'] as const),
  )
  readonly #worker: PictureWorker

  /** A thread of its own where none is given. */
  constructor(worker: PictureWorker = new PictureWorker()) {
    this.#worker = worker
  }

  async edit({ request, signal }: EditCall): Promise<Buffer> {
    const { pictures, ...edit } = request
    const task = { kind: 'demo-edit', pictures: pictures.map(bytesOf), edit } as const
    return this.#worker.run(task, signal)
  }

  async upscale({ request: { picture, scale }, signal }: UpscaleCall): Promise<Buffer> {
    return this.#worker.run({ kind: 'demo-upscale', picture: bytesOf(picture), scale }, signal)
  }

  async removeBackground({ picture, signal }: BackgroundCall): Promise<Buffer> {
    return this.#worker.run({ kind: 'demo-background', picture: bytesOf(picture) }, signal)
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}

const bytesOf = ({ bytes }: Picture): Uint8Array => bytes
