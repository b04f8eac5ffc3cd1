/** How long a scrape waits for the books; scrapers give up after ten seconds. */
export const booksPatienceMs = 2_000

/** Of how long requests take, in seconds: from a read to a long chat. */
export const secondsBuckets = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
