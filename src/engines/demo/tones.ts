import { setImmediate } from 'node:timers/promises'

export interface Tone {
  seconds: number
  hertz: number
  /** From 0 to 1. */
  loudness: number
  /** Others that sound with it, as multiples of its frequency. */
  chord?: readonly number[]
}

/** Tones drawn at a time before others have their turn: some milliseconds. */
const tonesAtOnce = 8

/** Tones one after the other, each rising and falling so that none clicks. */
export async function soundSamples(tones: readonly Tone[], rate: number, signal: AbortSignal): Promise<Int16Array> {
  const counts = tones.map(({ seconds }) => Math.max(1, Math.round(seconds * rate)))
  const samples = new Int16Array(counts.reduce((sum, count) => sum + count, 0))
  let start = 0
  for (const [index, tone] of tones.entries()) {
    if (index % tonesAtOnce === 0) {
      await setImmediate()
      signal.throwIfAborted()
    }
    const count = counts[index] ?? 0
    if (tone.loudness > 0) draw(samples.subarray(start, start + count), tone, rate)
    start += count
  }
  return samples
}

const largest = 32_767

function draw(samples: Int16Array, { hertz, loudness, chord = [1] }: Tone, rate: number): void {
  for (const [at] of samples.entries()) {
    const envelope = Math.sin((Math.PI * (at + 0.5)) / samples.length) ** 0.5
    let wave = 0
    for (const ratio of chord) {
      const phase = (2 * Math.PI * hertz * ratio * at) / rate
      wave += (Math.sin(phase) + 0.4 * Math.sin(2 * phase)) / (1.4 * chord.length)
    }
    samples[at] = Math.round(largest * loudness * envelope * wave)
  }
}
