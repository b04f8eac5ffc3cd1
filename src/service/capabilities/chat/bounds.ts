/** A stream goes on so long for a reader who has left, so that its engine can say what it used. */
export const unreadStreamMs = 30_000

/** A reasoning model that sends nothing for longer than this is thinking, not slow. */
export const thinkingAfterMs = 5_000

/**
 * What a token of a whole answer may take: its text, escaped as JSON, and each of its log probabilities, with a token, a
 * figure and the token's bytes as a list. Common engines send some 5 and 90.
 */
export const tokenBytes = 16
export const logprobBytes = 128

/** The longest text of a token: a run of 128 blanks. */
export const longTokenBytes = 128

/** What a model thinks in a second where its stream has had fewer pieces than this: below most engines' pace. */
export const assumedTokensASecond = 20
export const pacedPieces = 16

/** How long an engine that was aborted may take to say what it used; what it delivered is counted here otherwise. */
export const usageWaitMs = 5_000

/** A hold is extended once this part of its tokens is used, so that a stream does not wait for credit. */
export const extendFromShare = 0.75

/** An engine that goes on beyond its limit is cut off at so many times the limit: tokenizers differ, but not by this much. */
export const overrunFactor = 2

/** Brief §2.8: addresses of one message that are read. */
export const scrapedAddresses = 5

/** Images, videos and files that one request may name by their addresses: one after another is fetched while its caller waits. */
export const namedMediaCount = 10

/** Of all of them together: with base64 what the body of a request may have. */
export const namedMediaBytes = 25 * 1024 * 1024

/** Results of a search that are put before a model: what lies on a first page and is worth its tokens. */
export const searchedResults = 8

/** Of a search's query, as the published contract bounds it. */
export const queryCharacters = 400

/** What is found may fill this part of a model's context, and no more bytes than the next figures say. */
export const contextShare = 4
export const searchContextBytes = 24 * 1024
export const pagesContextBytes = 64 * 1024

/** Title, address and date of one source. */
export const sourceHeadCharacters = 2_048

/** What a citation in an answer repeats of its source. */
export const citedCharacters = 500

/** All pages of a message together; what has not come by then is left out. */
export const scrapingMs = 45_000

/** A search that takes longer than this is left out, because somebody waits for the answer. */
export const searchingMs = 20_000

/** Of the newest messages, in which a model looks for what to search: so many, and so many characters of each. */
export const decidedMessages = 4
export const decidedCharacters = 1_000

/** A query and a word before it. */
export const decisionTokens = 96
