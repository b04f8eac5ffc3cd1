/** The longer side of a picture that is looked at, and of the frames of a video. */
export const seenPixels = 1_280
export const framePixels = 960

/** Pictures of one animation, and frames of one video, spread over its length. */
export const animationPictures = 12
export const videoFrames = 40

/** A score from which on something counts as a face: low, because asking once too often costs a click. */
export const leastScore = 0.25

/** One picture: the model's five looks take half a second on a busy core, its first one loads it. */
export const lookMs = 30_000

/** Pictures that wait; a request has 40 at most, and each of them counts as one with a face beyond. */
export const looksWaiting = 400

/** Memory of the thread, beside what the model keeps outside of it. */
export const threadHeapMb = 512

/** Taking the frames out of a video, without its sound. */
export const framesMs = 60_000

/** All frames of one video; each is some 200 kB. */
export const framesBytes = 64 * 1024 * 1024

/** Videos whose frames are taken at once, and those that wait; what comes beyond counts as one with a face. */
export const framingsAtOnce = 2
export const framingsWaiting = 100
