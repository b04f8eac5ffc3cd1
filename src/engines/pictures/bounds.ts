/** A picture's bytes, decoded; the body limit of video requests is 35 MB with base64. */
export const pictureBytes = 20 * 1024 * 1024

/** Width times height of a picture: a phone's camera makes 50 million, a decompression bomb billions. */
export const picturePixels = 64_000_000
