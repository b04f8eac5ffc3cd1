/** The tokenizer's work grows with the square of an unbroken run, so it sees a text in pieces of at most this many characters. */
export const tokenizedPieceCharacters = 128

/** Characters of a request that are really tokenized, under 0.1 s of the worst script: nobody else is answered meanwhile. */
export const tokenizedCharacters = 32_768

/** Ordinary text has 4 to 5 bytes a token; what is not tokenized is taken to have no more, whatever it begins with. */
export const bytesPerTokenAtMost = 5

/** What chat templates add of their own before the first message: a date, a default instruction, a frame for tools. */
export const templateTokens = 256

/** What chat templates add round every message, beyond the bytes of its JSON. */
export const messageFrameTokens = 16

/** A picture in a prompt; large ones cost known models 800 to 4,000 tokens. */
export const imageTokens = 4_096

/** Bytes of encoded speech for a token: models take 10 to 25 tokens a second, and speech is rarely below 1 kB a second. */
export const audioBytesPerToken = 32

/** Without a maximum of its own a call holds at most this part of the available credit. */
export const creditParts = 5n

/** Tokens of an answer below which a call without a maximum is not worth starting. */
export const usefulCompletionTokens = 256

/** Tokens that an engine may report of one call; more is a fault of its counter, and the text is counted here instead. */
export const reportedTokens = 1_000_000_000

/** What a model adds to each text that it embeds: a beginning, an end, a word on what it is for. */
export const embeddingFrameTokens = 16
