import { afterAll, describe, expect, test } from 'vitest'
import { encodeAudio } from '#engines/audio/audio-codec.ts'
import { audioOfWav, type PcmAudio, type Recording } from '#engines/audio/recording.ts'
import { FliteSpeech } from '#engines/local/flite-speech.ts'
import { Pocketsphinx, readHeard } from '#engines/local/transcription.ts'

const signal = new AbortController().signal

describe('what one engine says', { timeout: 60_000, tags: ['pocketsphinx', 'engines'] }, () => {
  const voice = new FliteSpeech()
  const problems: string[] = []
  const ears = new Pocketsphinx({ onProblem: problem => problems.push(problem) })
  afterAll(() => voice.close())

  const said = 'The quick brown fox jumps over the lazy dog.'
  const spoken = async (): Promise<Buffer> => {
    const request = { text: said, voice: 'rms', format: 'wav', speed: 1 } as const
    return voice.speak({ request, engineModel: 'flite', signal })
  }
  const hear = (recording: Recording, change: { timestamps?: boolean; language?: string } = {}) =>
    ears.transcribe({ recording, timestamps: false, engineModel: 'sphinx', signal, ...change })

  test('the other hears, word by word', async () => {
    const bytes = await spoken()
    const { text, seconds, timestamps } = await hear({ bytes, type: 'wav' }, { timestamps: true, language: 'en' })
    const heard = new Set(text.split(' '))
    const wanted = ['quick', 'brown', 'fox', 'over', 'the', 'dog']
    expect(wanted.filter(word => !heard.has(word))).toEqual([])
    expect(seconds).toBeGreaterThan(2)
    const words = timestamps?.word ?? []
    expect(words.map(({ word }) => word).join(' ')).toBe(text)
    expect(words.every(({ start, end }) => start < end && end <= (seconds ?? 0) + 0.1)).toBe(true)
  })

  test('the other hears in other formats too', async () => {
    const bytes = await encodeAudio(audioOfWav(await spoken()) as PcmAudio, 'flac', signal)
    expect((await hear({ bytes, type: 'flac' })).text).toContain('brown')
  })

  test('says that it can be told of English alone', () => {
    const carried = ['en', 'en-GB', 'de', 'english'].map(language => new Pocketsphinx().carries('language', language))
    expect(carried).toEqual([true, true, false, false])
  })

  test('and what is no sound is refused', async () => {
    await expect(hear({ bytes: Buffer.from('no sound'), type: 'mp3' })).rejects.toMatchObject({ status: 422 })
    expect(problems).toEqual([])
  })

  test('a program that is not there is told in the log alone', async () => {
    const none = new Pocketsphinx({ path: '/nowhere/sphinx', onProblem: problem => problems.push(problem) })
    const recording: Recording = { bytes: await spoken(), type: 'wav' }
    await expect(
      none.transcribe({ recording, timestamps: false, engineModel: 'sphinx', signal }),
    ).rejects.toMatchObject({ kind: 'INFERENCE_FAILED' })
    expect(problems.join()).toContain('/nowhere/sphinx')
  })
})

test.each<[string, string, string]>([
  [
    'silence and noise',
    '<s> 0.000 0.120 0.99\nhello 0.130 0.330 0.80\n[NOISE] 0.34 0.5 0.9\n++UH++ 0.5 0.6 0.9\n',
    'hello',
  ],
  ['another way to say a word', 'the(2) 0.130 0.330 0.807086\n', 'the'],
  ['the sentence before its words', 'hello\n<s> 0.000 0.120 0.99\nhello 0.130 0.330 0.80\n', 'hello'],
  ['nothing', '', ''],
])('of what the program prints, %s is no more than it is', (_, output, text) => {
  expect(readHeard(output).text).toBe(text)
})
