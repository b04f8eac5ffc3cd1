import type { ModelKind } from './model-kind.ts'
import { musicKind, speechKind, transcriptionKind } from './models/audio.ts'
import { embeddingKind } from './models/embedding.ts'
import { imageKind } from './models/image.ts'
import { backgroundKind, inpaintKind, upscaleKind } from './models/pictures.ts'
import { textKind } from './models/text.ts'
import { videoKind } from './models/video.ts'

/** Every word that a model's `type:` may be. */
export const modelKinds: readonly ModelKind[] = [
  textKind,
  embeddingKind,
  imageKind,
  inpaintKind,
  upscaleKind,
  backgroundKind,
  speechKind,
  transcriptionKind,
  musicKind,
  videoKind,
]
