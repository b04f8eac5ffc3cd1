import type {
  SpeechCall,
  SpeechEngine,
  TranscribedSpeech,
  TranscriptionCall,
  TranscriptionEngine,
} from '#engines/ports/media-engines.ts'

export class ScriptedSpeech implements SpeechEngine {
  readonly carries = () => true
  asked: SpeechCall[] = []
  result: (call: SpeechCall) => Promise<Buffer> | Buffer = ({ request }) => Buffer.from(`<${request.text}>`)

  async speak(call: SpeechCall): Promise<Buffer> {
    this.asked.push(call)
    return this.result(call)
  }

  cloned: () => Promise<string> = async () => 'inner voice'

  cloneVoice(): Promise<string> {
    return this.cloned()
  }
}

export class ScriptedTranscription implements TranscriptionEngine {
  readonly carries = () => true
  asked: TranscriptionCall[] = []
  result: () => Promise<TranscribedSpeech> | TranscribedSpeech = () => ({ text: 'two words', seconds: 99 })

  async transcribe(call: TranscriptionCall): Promise<TranscribedSpeech> {
    this.asked.push(call)
    return this.result()
  }
}
