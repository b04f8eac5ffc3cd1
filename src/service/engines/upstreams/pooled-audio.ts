import type { MusicEngine, SpeechEngine, TranscriptionEngine } from '../audio-engines.ts'
import { type JobEngine, pooledJobs } from './pooled-engines.ts'
import type { UpstreamPool } from './upstream-pool.ts'

/** Engines of sound, over several upstreams. */

/** A voice of a recording is known to the upstream alone that made it, so none is made over several. */
export const pooledSpeech = (pool: UpstreamPool<SpeechEngine>): SpeechEngine => ({
  speak: call => pool.answer(call, (engine, asked) => engine.speak(asked)),
})

export const pooledTranscription = (pool: UpstreamPool<TranscriptionEngine>): TranscriptionEngine => ({
  transcribe: call => pool.answer(call, (engine, asked) => engine.transcribe(asked)),
})

export const pooledMusic = (pool: UpstreamPool<MusicEngine>): MusicEngine =>
  pooledJobs(pool as UpstreamPool<JobEngine<Parameters<MusicEngine['start']>[0]>>)
