import type { TranscribedSpeech, TranscriptionCall, TranscriptionEngine } from '../audio-engines.ts'
import { carriesOnly, type TranscriptionChoice } from '../carried-choices.ts'
import { longestRecordingSeconds } from '../sound/bounds.ts'
import { soundLength } from '../sound/sound-seconds.ts'

/** Understands no word, and says so: only how long a recording is, and of which type. It shows the path of a request. */
export class DemoTranscription implements TranscriptionEngine {
  readonly carries = carriesOnly<TranscriptionChoice>('language')

  async transcribe({ recording, language, signal }: TranscriptionCall): Promise<TranscribedSpeech> {
    const length = await soundLength(recording, { atMostSeconds: longestRecordingSeconds, signal })
    const seconds = typeof length === 'string' ? null : length.seconds
    const long = seconds === null ? 'of unknown length' : `of ${seconds.toFixed(1)} seconds`
    const asked = language === undefined ? '' : `, said to be in ${JSON.stringify(language)}`
    const text = `[This demonstration hears no words. It was given ${recording.type} sound ${long}${asked}.]`
    return { text, seconds }
  }
}
