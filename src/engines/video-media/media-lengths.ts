/** Lengths that were found in a request's media, in seconds. */
export interface MediaLengths {
  /** Of `video_url`; null where there is none. */
  video: number | null
  /** Of all reference videos together. */
  references: number
}

export const noMedia: MediaLengths = { video: null, references: 0 }

/** The least that media which nobody has read yet may turn out to be. */
export const shortestMedia: MediaLengths = { video: 0, references: 0 }
