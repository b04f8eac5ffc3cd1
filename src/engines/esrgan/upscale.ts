import { carriesOnly, type UpscaleChoice } from '../carried-choices.ts'
import type { UpscaleCall, UpscaleEngine } from '../engine.ts'
import { PictureWorker } from '../picture-worker.ts'

/**
 * Larger pictures by a small ESRGAN on this machine's processor. Wants the packages `@upscalerjs/esrgan-slim` and
 * `@tensorflow/tfjs-core`, `-layers` and `-backend-wasm`, and `sharp` for what is no PNG.
 */
export class EsrganUpscale implements UpscaleEngine {
  readonly carries = carriesOnly<UpscaleChoice>('scale')
  readonly #worker = new PictureWorker()

  async upscale({ request: { picture, scale }, signal }: UpscaleCall): Promise<Buffer> {
    return this.#worker.run({ kind: 'esrgan', picture: picture.bytes, scale }, signal)
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}
