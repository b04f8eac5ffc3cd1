import type { ImageFormat } from '#contract/operations/images.ts'
import type { ImageFile } from '../images/image-file.ts'
import type { Carries, EditChoice, ImageChoice, UpscaleChoice } from './carried-choices.ts'

/** What an image is made of, with nothing that its model does not take. */
export interface ImageRequest {
  prompt: string
  negativePrompt?: string
  width: number
  height: number
  count: number
  format: ImageFormat
  seed?: number
  steps?: number
  cfgScale?: number
  style?: string
  /** Whether the caller wants sexual images blurred; for engines that can do so themselves. */
  safeMode?: boolean
}

/** What an engine says that it found in its images. */
export interface EngineFinding {
  isBlurred?: boolean
  isViolation?: boolean
  isAdultViolation?: boolean
  containsMinor?: boolean
}

export interface ImageCall {
  request: ImageRequest
  engineModel: string
  signal: AbortSignal
  found?: (finding: EngineFinding) => void
}

export interface ImageEngine {
  readonly carries: Carries<ImageChoice>
  /** Images in the format of the request, one at least and no more than were asked for; only those are charged. */
  generate(call: ImageCall): Promise<Buffer[]>
}

/** What is made of images, with nothing that its model does not take. */
export interface EditRequest {
  prompt: string
  /** One at least, the first is the one to change. */
  pictures: readonly ImageFile[]
  format: ImageFormat
  /** Absent where the image keeps its own. */
  aspectRatio?: string
  resolution?: string
  quality?: 'low' | 'medium' | 'high'
}

export interface EditCall {
  request: EditRequest
  engineModel: string
  signal: AbortSignal
}

export interface EditEngine {
  readonly carries: Carries<EditChoice>
  /** An image in the format of the request. */
  edit(call: EditCall): Promise<Buffer>
}

export interface UpscaleRequest {
  picture: ImageFile
  /** From 1 to 4; 1 is for a model that enhances. */
  scale: number
  /** Only for a model that has it; each from 0 to 1. */
  enhance?: { creativity: number; replication: number; prompt?: string }
}

export interface UpscaleCall {
  request: UpscaleRequest
  engineModel: string
  signal: AbortSignal
}

export interface UpscaleEngine {
  readonly carries: Carries<UpscaleChoice>
  /** A PNG. */
  upscale(call: UpscaleCall): Promise<Buffer>
}

export interface BackgroundCall {
  picture: ImageFile
  engineModel: string
  signal: AbortSignal
}

export interface BackgroundEngine {
  /** A PNG whose background is transparent. */
  removeBackground(call: BackgroundCall): Promise<Buffer>
}

/** What a moderator found in an image. Null is what it cannot tell. */
export interface ImageFinding {
  /** Sexual content: what safe mode blurs. */
  isAdult: boolean
  /** Anything else that its policy forbids, such as gore. */
  isViolation: boolean | null
  containsMinor: boolean | null
}

/** Looks at images that were made here, before they are sold. */
export interface Moderator {
  /** Throws where it cannot look: then the image is not sold. */
  judge(image: Uint8Array, signal: AbortSignal): Promise<ImageFinding>
  /** Ends its threads and connections. */
  close?(): Promise<void>
}
