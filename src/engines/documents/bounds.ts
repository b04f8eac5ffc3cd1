/** Reading a document of some hundred pages takes seconds; one that is built to take longer is given up. */
export const documentMs = 30_000

/** Memory of the thread that does it. */
export const documentHeapMb = 512

/** Documents that wait for that thread; what comes beyond is told to come again. */
export const documentsWaiting = 16

/** What a packed document unfolds to; a book with its pictures stays below. */
export const unpackedBytes = 200 * 1024 * 1024

/** Files within a packed document. */
export const packedFiles = 10_000

/** Of the text: some three thousand pages. */
export const documentCharacters = 10_000_000

/** Cells that the sheets of a document span, empty ones too; to write them takes a second or two. */
export const sheetCells = 1_000_000
