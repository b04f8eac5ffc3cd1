import type { EngineKind, ModelKind } from './define-kind.ts'
import { comfyKind } from './engines/comfyui.ts'
import { demoKind } from './engines/demo.ts'
import { ggufKind, localKind } from './engines/local.ts'
import { openAiKind } from './engines/openai.ts'
import { serviceKind } from './engines/service.ts'
import { musicKind, speechKind, transcriptionKind } from './models/audio.ts'
import { backgroundKind, imageKind, inpaintKind, upscaleKind } from './models/images.ts'
import { embeddingKind, textKind } from './models/text.ts'
import { videoKind } from './models/video.ts'

/** Every word that `engine:` may be, in the order in which they are told. */
export const engineKinds: readonly EngineKind[] = [openAiKind, serviceKind, comfyKind, ggufKind, localKind, demoKind]

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
