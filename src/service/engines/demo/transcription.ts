import { longestRecordingSeconds } from '../../sound/bounds.ts'
import { soundLength } from '../../sound/sound-seconds.ts'
import type { TranscribedSpeech, TranscriptionCall, TranscriptionEngine } from '../audio-engines.ts'

/** Understands no word, and says so: only how long a recording is, and of which type. It shows the path of a request. */
export class DemoTranscription implements TranscriptionEngine {
  async transcribe({ recording, signal }: TranscriptionCall): Promise<TranscribedSpeech> {
    const length = await soundLength(recording, { atMostSeconds: longestRecordingSeconds, signal })
    const seconds = typeof length === 'string' ? null : length.seconds
    const long = seconds === null ? 'of unknown length' : `of ${seconds.toFixed(1)} seconds`
    return { text: `[This demonstration hears no words. It was given ${recording.type} sound ${long}.]`, seconds }
  }
}
