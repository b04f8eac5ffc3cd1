/** How long an engine may take to make a voice of a recording. */
export const voiceMs = 300_000

/** The sentence that was begun when its caller left is spoken to its end, within the time that slow engines take for one. */
export const unreadSentenceMs = 60_000
