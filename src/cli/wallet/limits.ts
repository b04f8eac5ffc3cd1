/** How long a service may take to say what it wants; a person waits for it. */
export const offerTimeoutMs = 15_000
/** A list of two payment options is a few hundred bytes. */
export const offerBytes = 65_536
/** What a person types at most in answer to a question. */
export const answerCharacters = 1_024
/** Receipts that `farebox wallet receipts` prints unless told. */
export const shownReceipts = 50
/** Receipts that it gives a program at once; more than anybody keeps. */
export const listedReceipts = 20_000
