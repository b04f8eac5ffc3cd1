import { afterAll, describe, expect, test } from 'vitest'
import { wavSeconds } from '#engines/audio/recording.ts'
import { FliteSpeech } from '#engines/local/flite-speech.ts'

describe('speech by Flite', { timeout: 60_000, tags: ['engines'] }, () => {
  const problems: string[] = []
  const engine = new FliteSpeech({ onProblem: problem => problems.push(problem) })
  afterAll(() => engine.close())

  const speak = (text: string, change: { voice?: string; speed?: number } = {}) =>
    engine.speak({
      request: { text, voice: 'slt', format: 'wav', speed: 1, ...change },
      engineModel: 'flite',
      signal: new AbortController().signal,
    })

  test('is sound, longer for longer texts and shorter at a higher speed', async () => {
    const [short, long, fast] = [
      await speak('Good morning.'),
      await speak('Good morning to you and to everybody else.'),
      await speak('Good morning.', { speed: 2 }),
    ]
    const [shortSeconds = 0, longSeconds = 0, fastSeconds = 0] = [short, long, fast].map(each => wavSeconds(each) ?? 0)
    expect(shortSeconds).toBeGreaterThan(0.3)
    expect(longSeconds).toBeGreaterThan(1.5 * shortSeconds)
    expect(fastSeconds).toBeLessThan(0.8 * shortSeconds)
    expect((await speak('Good morning.', { voice: 'rms' })).equals(short)).toBe(false)
  })

  test.each(['-o /etc/passwd', '--version', '<speak>x</speak>', 'a\0b', 'ä 日本 🙂'])(
    'takes %j for a text',
    async text => {
      expect(wavSeconds(await speak(text))).toBeGreaterThan(0)
    },
  )

  test('a voice that the package does not have is told in the log alone', async () => {
    await expect(speak('Good morning.', { voice: '/voice.flitevox' })).rejects.toMatchObject({
      kind: 'INFERENCE_FAILED',
    })
    expect(problems).toEqual(['The package has no voice with this name.'])
  })
})
