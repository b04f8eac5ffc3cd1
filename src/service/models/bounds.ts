/** A picture's bytes, decoded; the body limit of video requests is 35 MB with base64. */
export const pictureBytes = 20 * 1024 * 1024

/** Width times height of a picture: a phone's camera makes 50 million, a decompression bomb billions. */
export const picturePixels = 64_000_000

/** Brief §2.6: a prompt's length on a model that says nothing else. */
export const promptCharacters = 2_500

/** Models of one service; the list is one answer. */
export const modelCount = 1_000

/** Length of a video whose request leaves it to the model (`Auto`, `1 gen`). */
export const modelChosenSeconds = 5

/** Ids that an answer about a model that there is not names; all of them are a list of its own. */
export const namedModels = 3
