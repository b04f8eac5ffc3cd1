import type { EngineKind } from './engine-kind.ts'
import { comfyKind } from './engines/comfyui.ts'
import { demoKind } from './engines/demo.ts'
import { ggufKind } from './engines/gguf.ts'
import { localKind } from './engines/local.ts'
import { openAiKind } from './engines/openai.ts'
import { serviceKind } from './engines/service.ts'

/** Every word that `engine:` may be, in the order in which they are told. */
export const engineKinds: readonly EngineKind[] = [openAiKind, serviceKind, comfyKind, ggufKind, localKind, demoKind]
