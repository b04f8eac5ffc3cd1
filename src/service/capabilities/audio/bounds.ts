/** How long an engine may take to make a voice of a recording. */
export const voiceMs = 300_000
