/** A page of results; those of real engines have some 100 kB. */
export const searchAnswerBytes = 4 * 1024 * 1024

/** A search that asks many engines at once waits for the slowest of them. */
export const searchMs = 15_000

/** Text that one result may have, so that no engine fills a prompt with one of them. */
export const resultCharacters = 4_000

/** The markup of a page; the largest articles have 2 to 3 MB. */
export const pageBytes = 5 * 1024 * 1024

/** Until all of a page is here. */
export const pageFetchMs = 20_000

/** The Markdown of a page: a book chapter. What is beyond is cut off, and says so. */
export const pageCharacters = 200_000

/** Elements within each other; real pages stay below 60, and what is done to them takes time by the square and more. */
export const pageDepth = 200

/** Making Markdown takes 0.1 to 1 s; a page built to take longer is given up. */
export const convertMs = 10_000

/** Memory of the thread that does it; the markup of the largest page takes a third of it. */
export const convertHeapMb = 512

/** Pages that wait for that thread; what comes beyond is told to come again. */
export const pagesWaiting = 64
