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
