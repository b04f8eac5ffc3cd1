/** Every bound of the approval page, with its unit and why that number. */

/** Of the link, the page's path, its session and its form, each: nobody guesses 256 bits. */
export const secretBytes = 32
/** An answer is a few fields. */
export const formBytes = 4_096
/** How long the last page has to reach its browser when the server closes. */
export const lastAnswerMs = 2_000
