import { threadUrl } from '#host/workers/thread-entry.ts'
import { ImageWorker } from '../images/raster.ts'
import { carriesOnly, type UpscaleChoice } from '../ports/engine.ts'
import type { UpscaleCall, UpscaleEngine } from '../ports/media-engines.ts'

/** A task for the thread. */
export interface EsrganTask {
  image: Uint8Array
  scale: number
}

/**
 * Upscales images with a small ESRGAN on this machine's processor. Needs the packages `@upscalerjs/esrgan-slim` and
 * `@tensorflow/tfjs-core`, `-layers` and `-backend-wasm`, and `sharp` for anything but PNG.
 */
export class EsrganUpscale implements UpscaleEngine {
  readonly carries = carriesOnly<UpscaleChoice>('scale')
  readonly #worker = new ImageWorker<EsrganTask>(threadUrl('esrgan-thread', import.meta.url))

  async upscale({ request: { image, scale }, signal }: UpscaleCall): Promise<Buffer> {
    return this.#worker.run({ image: image.bytes, scale }, signal)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}
