/** How long FFmpeg may take to load and say what it can do; 0.2 s on an idle machine. */
export const findMs = 20_000

/** Accounts that may fill a line together; each has such a part of its places, and one at least. */
export const accountsInLine = 4

/** When a caller who finds no place in a line may retry: most tasks take a second or two. */
export const retryAfterSeconds = 2
