import type { MediaFormat } from '../video-media/media-format.ts'

/** A picture or a video whose type is known. */
export interface FaceMedium {
  kind: 'image' | 'video'
  bytes: Buffer
  /** Null for pictures. */
  format: MediaFormat | null
}

/** Whether a medium shows a human face. One that cannot tell says yes; when nobody asks any more, the signal's reason is thrown. */
export interface FaceDetector {
  hasFace(medium: FaceMedium, signal?: AbortSignal): Promise<boolean>
}

/** Without a detector every medium counts as one with a face: consent is asked too often rather than too seldom. */
export const everyMediumHasAFace: FaceDetector = { hasFace: async () => true }
