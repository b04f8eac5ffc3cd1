/** Encoders by the names that FFmpeg gives them. Reading, measuring and decoding need none of them. */

/** What films are made with: H.264 and AAC. */
export const videoEncoders = ['libx264', 'aac'] as const

/** What each format of sound is made with. */
export const soundEncoders = { mp3: 'libmp3lame', opus: 'libopus', aac: 'aac', flac: 'flac' } as const
