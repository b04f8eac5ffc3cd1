/** A receipt with more lines than usual is left out of the answer's headers; some proxies take 8 kB of all of them. */
export const receiptHeaderCharacters = 4_096

/** Keys that are published: one a rotation of the service's secret, so this is a lifetime of them. */
export const publishedKeys = 200
