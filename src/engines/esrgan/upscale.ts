import { threadUrl } from '#host/workers/thread-entry.ts'
import { ImageWorker } from '../images/raster.ts'
import { carriesOnly, type UpscaleChoice } from '../ports/engine.ts'
import type { UpscaleCall, UpscaleEngine } from '../ports/media-engines.ts'

/** A task of the thread. */
export interface EsrganTask {
  image: Uint8Array
  scale: number
}

/**
 * Larger images by a small ESRGAN on this machine's processor. Wants the packages `@upscalerjs/esrgan-slim` and
 * `@tensorflow/tfjs-core`, `-layers` and `-backend-wasm`, and `sharp` for what is no PNG.
 */
export class EsrganUpscale implements UpscaleEngine {
  readonly carries = carriesOnly<UpscaleChoice>('scale')
  readonly #worker = new ImageWorker<EsrganTask>(threadUrl('esrgan-thread', import.meta.url))

  async upscale({ request: { image, scale }, signal }: UpscaleCall): Promise<Buffer> {
    return this.#worker.run({ image: image.bytes, scale }, signal)
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}
