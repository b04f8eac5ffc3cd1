/** The tokenizer's work grows with the square of an unbroken run, so it sees a text in pieces of at most this many characters. */
export const tokenizedPieceCharacters = 128

/** Characters of a request that are really tokenized, under 0.1 s of the worst script: nobody else is answered meanwhile. */
export const tokenizedCharacters = 32_768

/** Ordinary text has 4 to 5 bytes a token; what is not tokenized is taken to have no more, whatever it begins with. */
export const bytesPerTokenAtMost = 5

/** A picture in a prompt; large ones cost known models 800 to 4,000 tokens. */
export const imageTokens = 4_096

/** Bytes of encoded speech for a token: models take 10 to 25 tokens a second, and speech is rarely below 1 kB a second. */
export const audioBytesPerToken = 32

/** Blanks in a row that ordinary text has, as indentation; beyond them each counts as a token of its own. */
export const ordinaryBlanks = 32
